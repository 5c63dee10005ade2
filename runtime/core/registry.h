// The table of operators in this binary: a generated constant, plus operators that plug-ins
// register at run time.
#ifndef TRIMTAB_CORE_REGISTRY_H_
#define TRIMTAB_CORE_REGISTRY_H_

#include "runtime/core/operator.h"

namespace trimtab {

class Program;

enum class LayoutRule : uint8_t { kAny, kPlain, kNhwc, kConverts };

// One operator: the part of its schema that the engine checks, and its classes. Generated from
// runtime/ops/*.toml.
struct OperatorRow {
  uint32_t schema;  // hash of the schema; files with another hash have other attributes
  uint16_t id;
  uint8_t min_inputs, max_inputs, min_outputs, max_outputs;  // 255: no limit
  LayoutRule layout;
  bool view;                // the output shares the input's memory
  bool prepares;            // runs once, when the model is set up; its output is a constant
  bool accepts_empty;       // its result may have elements though an input has none
  uint16_t dtypes;          // bit set of DType: allowed input types
  uint8_t optional_mask;    // bit i set: input i may be absent
  uint8_t constant_mask;    // bit i set: input i must be constant
  uint8_t index_mask;       // bit i set: input i holds indices (i32 or i64), whatever `dtypes` says
  uint8_t half_mask;        // bit i set: input i may be f16, in addition to `dtypes`
  uint8_t float_mask;       // bit i set: input i is f32, whatever `dtypes` says
  uint8_t in_place_inputs;  // bit i set: output 0 may reuse the memory of input i
  uint8_t field_count;
  uint8_t factory_count;
  bool is_state;             // its output is a state: a copy of its input until it is replaced
  uint16_t strided_inputs;   // bit i set: input i may be a sub-tensor
  uint16_t strided_outputs;  // bit i set: output i may be a sub-tensor
  const AttributeField* fields;
  const OperatorFactory* const* factories;  // its classes, at least one
  const char* name;                         // "" when strings are off
};

// Null if the operator was trimmed away or does not exist.
const OperatorRow* FindOperator(uint16_t id);

// The operator's class for a type of the first input (kNone: no input). If there is none, any of
// its classes, which rejects the type.
const OperatorFactory& FactoryFor(const OperatorRow& row, DType dtype);

// Access of the core to operators that were registered at run time.
struct RunTimeOperators {
  const OperatorRow* (*find)(uint16_t id);  // returns null if there is none
  // Releases the run-time operators among a program's operators, of which any may be null, and the
  // program itself.
  void (*release)(const Program* program, Operator* const* operators);
};
// Null until the first operator is registered, so that other binaries do not link the code.
extern const RunTimeOperators* run_time_operators;

// Defined in the generated registry.cpp.
extern const OperatorRow kOperatorTable[];
extern const size_t kOperatorTableSize;
extern const uint64_t kSchemaHash;

}  // namespace trimtab

#endif  // TRIMTAB_CORE_REGISTRY_H_
