// Differences of model files. A file of its own, which a linker leaves out of programs that apply
// none.
#include <string.h>

#include "runtime/api/trimtab.h"
#include "runtime/core/loader.h"
#include "runtime/core/program.h"

namespace {

constexpr size_t kBlock = 64;

struct DeltaHeader {
  char magic[8];
  uint64_t checksum;  // of the difference, with 0 in place of itself
  uint64_t old_bytes, old_tables_checksum, old_constants_checksum;
  uint64_t new_bytes;
  uint64_t reserved[2];
};
static_assert(sizeof(DeltaHeader) == kBlock, "the header is a block");

// Numbers of blocks: those that follow, then those of the old file and the first of them.
struct DeltaStep {
  uint32_t literal, copied, first;
};

bool IsWhole(DeltaHeader header, const uint8_t* delta, uint64_t size) {
  const uint64_t checksum = header.checksum;
  header.checksum = 0;
  trimtab::RunningChecksum sum;
  sum.Add(reinterpret_cast<const uint8_t*>(&header), sizeof(header));
  sum.Add(delta + kBlock, static_cast<size_t>(size) - kBlock);
  return memcmp(header.magic, "ttdelta1", sizeof(header.magic)) == 0 && sum.Digest() == checksum;
}

// Whether the checksums of a model file of that size are right.
bool IsWhole(const uint8_t* model, size_t size) {
  trimtab::FileHeader header;
  memcpy(&header, model, sizeof(header));
  const size_t tables = header.stored_bytes;
  if (header.file_bytes != size || tables % kBlock != 0 || tables < kBlock || tables > size)
    return false;
  return trimtab::Checksum(model + kBlock, tables - kBlock) == header.tables_checksum &&
         trimtab::Checksum(model + tables, size - tables) == header.constants_checksum;
}

// Makes `blocks` blocks; false if the steps do not fit them.
bool Follow(const uint8_t* from, const uint8_t* end, const uint8_t* old, uint64_t old_blocks,
            uint64_t blocks, uint8_t* to) {
  while (blocks > 0) {
    DeltaStep step;
    if (end - from < static_cast<ptrdiff_t>(sizeof(step))) return false;
    memcpy(&step, from, sizeof(step));
    from += sizeof(step);
    if (step.literal > static_cast<size_t>(end - from) / kBlock || step.literal > blocks ||
        step.copied > blocks - step.literal || step.first > old_blocks ||
        step.copied > old_blocks - step.first)
      return false;
    memcpy(to, from, step.literal * kBlock);
    from += step.literal * kBlock;
    to += step.literal * kBlock;
    memcpy(to, old + step.first * kBlock, step.copied * kBlock);
    to += step.copied * kBlock;
    blocks -= static_cast<uint64_t>(step.literal) + step.copied;
  }
  return true;
}

}  // namespace

int trimtab_apply_delta(const void* old_model, size_t old_bytes, const void* delta,
                        size_t delta_bytes, void* model, size_t* model_bytes) {
  const uint8_t* const old = static_cast<const uint8_t*>(old_model);
  const uint8_t* const steps = static_cast<const uint8_t*>(delta);
  uint8_t* const to = static_cast<uint8_t*>(model);
  if (old == nullptr || steps == nullptr || model_bytes == nullptr) return TRIMTAB_BAD_ARGUMENT;
  DeltaHeader header;
  if (delta_bytes < kBlock || delta_bytes % kBlock != 0) return TRIMTAB_BAD_FILE;
  memcpy(&header, steps, sizeof(header));
  if (!IsWhole(header, steps, delta_bytes)) return TRIMTAB_BAD_FILE;
  trimtab::FileHeader old_header;
  if (old_bytes != header.old_bytes || old_bytes < sizeof(old_header)) return TRIMTAB_BAD_ARGUMENT;
  memcpy(&old_header, old, sizeof(old_header));
  if (old_header.tables_checksum != header.old_tables_checksum ||
      old_header.constants_checksum != header.old_constants_checksum)
    return TRIMTAB_BAD_ARGUMENT;
  const size_t capacity = *model_bytes, size = static_cast<size_t>(header.new_bytes);
  *model_bytes = size;
  if (size != header.new_bytes || to == nullptr || capacity < size) return TRIMTAB_BAD_ARGUMENT;
  if (size < sizeof(old_header) || size % kBlock != 0) return TRIMTAB_BAD_FILE;
  const bool fits =
      Follow(steps + kBlock, steps + delta_bytes, old, old_bytes / kBlock, size / kBlock, to);
  return fits && IsWhole(to, size) ? TRIMTAB_OK : TRIMTAB_BAD_FILE;
}
