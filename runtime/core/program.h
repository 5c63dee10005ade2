// A parsed .ttm file: tables that point into its bytes (docs/model-format.md).
#ifndef TRIMTAB_CORE_PROGRAM_H_
#define TRIMTAB_CORE_PROGRAM_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/memory.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace trimtab {

constexpr uint32_t kFormatVersion = 5;
constexpr uint32_t kAbsent = 0xFFFFFFFFu;  // operand index of an absent optional input

enum FileFlags : uint32_t { kFlagPlanned = 1 };
enum VarFlags : uint8_t { kVarPacked = 1, kVarSubTensor = 2 };

struct FileHeader {
  char magic[8];  // "trimtab" and a zero byte
  uint32_t version;
  uint32_t tables_bytes;  // end of the tables, before they are packed
  uint64_t file_bytes;
  uint64_t tables_checksum;     // from kSealBytes to stored_bytes
  uint64_t constants_checksum;  // from stored_bytes to file_bytes
  uint64_t sealed_reserved[3];
  // The checksum of the tables covers everything from here on.
  uint64_t schema_hash;  // of the writer's whole schema, informative: each operator has its own
  uint32_t flags;
  uint32_t var_count, op_count, input_count, output_count;
  uint32_t metadata_offset, metadata_bytes;  // informative JSON
  uint32_t stored_bytes;  // end of the tables in the file; tables_bytes: they are not packed
  uint32_t reserved[6];
};
static_assert(sizeof(FileHeader) == 128, "the header is 128 bytes");
constexpr uint64_t kSealBytes = 64;  // part of the header that no checksum covers
static_assert(offsetof(FileHeader, schema_hash) == kSealBytes, "checksums begin behind the seal");

struct VarRecord {
  int32_t dims[8];
  uint64_t data_offset;  // 0: computed at run time
  uint64_t data_bytes;
  uint32_t name_offset;  // 0: no name; else u16 length, text, zero byte
  uint8_t dtype, layout, rank, flags;
  uint32_t parent,
      channel;  // with kVarSubTensor: this sub-tensor is channels of `parent`, from `channel` on
  uint32_t quantization_offset;  // 0: none; else a Quantization, 4-byte aligned
  uint32_t reserved;
};
static_assert(sizeof(VarRecord) == 72, "a variable record is 72 bytes");

struct OpRecord {
  uint16_t op_id;
  uint8_t input_count, output_count;
  uint32_t operands_offset;    // u32 variable indices: inputs, then outputs
  uint32_t attributes_offset;  // 8-byte aligned
  uint32_t attributes_bytes;
  uint32_t name_offset;
  uint32_t schema;  // hash of the operator's schema in the writer
  uint32_t reserved[2];
};
static_assert(sizeof(OpRecord) == 32, "an operator record is 32 bytes");

class Program {
 public:
  const FileHeader& header() const { return *reinterpret_cast<const FileHeader*>(bytes_); }
  const VarRecord& var(uint32_t i) const { return vars_[i]; }
  const OpRecord& op(uint32_t i) const { return ops_[i]; }
  uint32_t var_count() const { return header().var_count; }
  uint32_t op_count() const { return header().op_count; }
  uint32_t input_count() const { return header().input_count; }
  uint32_t output_count() const { return header().output_count; }
  uint32_t input(uint32_t i) const { return boundary_[i]; }
  uint32_t output(uint32_t i) const { return boundary_[header().input_count + i]; }
  const uint32_t* operands(const OpRecord& op) const {
    return reinterpret_cast<const uint32_t*>(bytes_ + op.operands_offset);
  }
  const uint8_t* attributes(const OpRecord& op) const { return bytes_ + op.attributes_offset; }
  const uint8_t* data(const VarRecord& var) const {
    return constants_ + (var.data_offset - header().tables_bytes);
  }
  static Dims dims(const VarRecord& var) {
    Dims dims;
    dims.rank = var.rank;
    for (int i = 0; i < var.rank; ++i) dims[i] = var.dims[i];
    return dims;
  }
  const Quantization* quantization(const VarRecord& var) const {
    return var.quantization_offset == 0
               ? nullptr
               : reinterpret_cast<const Quantization*>(bytes_ + var.quantization_offset);
  }
  const char* name(uint32_t name_offset) const {
    return name_offset == 0 ? "" : reinterpret_cast<const char*>(bytes_ + name_offset + 2);
  }
  // All constants, aligned to 64 bytes, and their size, a multiple of 64.
  const uint8_t* constants() const { return constants_; }
  size_t constants_bytes() const {
    return static_cast<size_t>(header().file_bytes) - header().stored_bytes;
  }

 private:
  friend Status Load(const void* bytes, size_t size, Program* program);

  const uint8_t* bytes_ = nullptr;  // header and tables, in the file or unpacked
  const uint8_t* constants_ = nullptr;
  Memory unpacked_;
  const VarRecord* vars_ = nullptr;
  const OpRecord* ops_ = nullptr;
  const uint32_t* boundary_ = nullptr;  // graph inputs, then outputs
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_PROGRAM_H_
