// The table of operators in this binary: a generated constant, plus operators registered at run
// time by plug-ins.
#ifndef TRIMTAB_CORE_REGISTRY_H_
#define TRIMTAB_CORE_REGISTRY_H_

#include "runtime/core/operator.h"

namespace trimtab {

class Program;

enum class LayoutRule : uint8_t { kAny, kPlain, kNhwc, kConverts };

// One operator: its schema as far as the engine checks it, and how to make it. Generated from
// runtime/ops/*.toml.
struct OperatorRow {
  uint32_t schema;  // hash of the schema: a file written with another one has other attributes
  uint16_t id;
  uint8_t min_inputs, max_inputs, min_outputs, max_outputs;  // 255: any number
  LayoutRule layout;
  bool view;                // the output is the input's memory
  bool prepares;            // runs once, when the model is set up; the output is a constant then
  uint8_t dtypes;           // bit DType set: allowed for inputs
  uint8_t optional_mask;    // bit i set: input i may be absent
  uint8_t constant_mask;    // bit i set: input i is a weight
  uint8_t index_mask;       // bit i set: input i holds indices (i32 or i64), whatever `dtypes` says
  uint8_t half_mask;        // bit i set: input i may hold f16 beside what `dtypes` says
  uint8_t real_mask;        // bit i set: input i holds f32, whatever `dtypes` says
  uint8_t in_place_inputs;  // bit i set: output 0 may be written where input i lies
  uint8_t field_count;
  uint8_t factory_count;
  uint16_t strided_inputs;   // bit i set: input i may be a part of a variable
  uint16_t strided_outputs;  // bit i set: output i may be one
  const AttributeField* fields;
  const OperatorFactory* const* factories;  // its classes, at least one
  const char* name;                         // "" when strings are off
};

// Null when the operator was trimmed away or never existed.
const OperatorRow* FindOperator(uint16_t id);

// The class of an operator for a type of the first input (kNone: there is no input). Where it has
// none, any of its classes: this refuses the type.
const OperatorFactory& FactoryFor(const OperatorRow& row, DType dtype);

// How the core reaches operators that were registered at run time.
struct RunTimeOperators {
  const OperatorRow* (*find)(uint16_t id);  // null: there is none
  // Takes leave of those among a program's operators, of which any may be null, and all of them.
  void (*release)(const Program* program, Operator* const* operators);
};
// Null until the first one is registered: a binary that registers none holds none of their code.
extern const RunTimeOperators* run_time_operators;

// Defined by the generated registry.cpp.
extern const OperatorRow kOperatorTable[];
extern const size_t kOperatorTableSize;
extern const uint64_t kSchemaHash;

}  // namespace trimtab

#endif  // TRIMTAB_CORE_REGISTRY_H_
