// Attribute values as stored in a .ttm file, and the decoder that fills an operator's generated
// struct.
#ifndef TRIMTAB_CORE_ATTRIBUTES_H_
#define TRIMTAB_CORE_ATTRIBUTES_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/status.h"

namespace trimtab {

struct IntList {
  const int64_t* data = nullptr;
  uint32_t size = 0;
  int64_t operator[](size_t i) const { return data[i]; }
};

struct FloatList {
  const float* data = nullptr;
  uint32_t size = 0;
  float operator[](size_t i) const { return data[i]; }
};

// A micro-kernel named by a plan: FNV-1a hash of its name, the low half of its family's hash, and
// the tile that its weights are packed for. name 0: no kernel.
struct KernelRef {
  uint32_t name = 0;
  uint16_t family = 0;
  uint8_t mr = 0, nr = 0;
};

// kInt without a limit covers every value that is eight bytes unchanged: int, uint, double.
enum class AttributeType : uint8_t {
  kInt,
  kFloat,
  kBool,
  kEnum,
  kInts,
  kFloats,
  kOp,
  kKernel,
  kRecords
};

// One row per attribute, generated from the schema: its offset in the struct and its legal values.
// The fields of a record type follow the row of the record list, which counts them.
struct AttributeField {
  AttributeType type;
  uint8_t min;      // minimum of an int with a limit
  uint16_t offset;  // in the struct
  uint16_t limit;   // int: maximum; enum: number of values; ints, floats: exact length; 0: no limit
};

// An attribute block is one 8-byte slot per attribute in schema order, then the elements of its
// lists; a list's slot is u32 offset from the block's start, u32 count. A record is one slot per
// field. `block` is 8-byte aligned. Every offset is checked.
Status DecodeAttributes(const uint8_t* block, size_t bytes, const AttributeField* fields,
                        size_t count, void* out);

// Decodes the attribute in one slot; false if its value is not legal.
bool DecodeSlot(const uint8_t* block, size_t bytes, const uint8_t* slot,
                const AttributeField& field, uint8_t* out);

// Location of a list of records: `size` of them from `first` on, in a block of `bytes`.
struct RecordRange {
  const uint8_t* block = nullptr;
  uint32_t bytes = 0, first = 0, size = 0;
};

// A list of records. T is generated from the schema; an element is decoded when it is read.
template <typename T>
struct RecordList : RecordRange {
  T operator[](size_t i) const;
};

// Checks all records of a list and sets its location; false if a record is not legal.
bool DecodeRecords(const uint8_t* block, size_t bytes, const uint8_t* slot,
                   const AttributeField& field, uint8_t* out);
void DecodeRecord(const RecordRange& place, size_t i, const AttributeField* fields, size_t count,
                  void* out);

template <typename T>
T RecordList<T>::operator[](size_t i) const {
  T record;
  DecodeRecord(*this, i, T::kFields, T::kFieldCount, &record);
  return record;
}

// Generated: DecodeRecords, or null if no operator has records.
using RecordsDecoder = decltype(DecodeRecords);
extern RecordsDecoder* const kDecodeRecords;

}  // namespace trimtab

#endif  // TRIMTAB_CORE_ATTRIBUTES_H_
