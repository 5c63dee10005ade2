#include "tests/fuzz/subject.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/core/loader.h"

namespace trimtab {
namespace {

// Offsets in the header of docs/model-format.md.
constexpr size_t kFileBytes = 16, kTablesChecksum = 24, kConstantsChecksum = 32;
constexpr size_t kSealed = 64, kStoredBytes = 100, kHeader = 128;

// Limit of the arena with prepared weights, and of each input: they are filled hundreds of times
// per second.
constexpr size_t kMaxBytes = 256 << 10;

template <typename T>
T Read(const uint8_t* bytes) {
  T value;
  memcpy(&value, bytes, sizeof(value));
  return value;
}

// Length of the file at the start of `bytes`, or 0.
size_t FileBytes(const uint8_t* bytes, size_t size) {
  if (size < kHeader) return 0;
  const auto file = Read<uint64_t>(bytes + kFileBytes);
  const auto tables = Read<uint32_t>(bytes + kStoredBytes);
  const bool whole = file >= kHeader && file <= size && tables >= kHeader && tables <= file;
  return whole && file % 64 == 0 && tables % 64 == 0 ? static_cast<size_t>(file) : 0;
}

void Seal(uint8_t* file, size_t size) {
  const auto tables = Read<uint32_t>(file + kStoredBytes);
  const uint64_t sums[2] = {Checksum(file + kSealed, tables - kSealed),
                            Checksum(file + tables, size - tables)};
  memcpy(file + kTablesChecksum, &sums[0], sizeof(sums[0]));
  memcpy(file + kConstantsChecksum, &sums[1], sizeof(sums[1]));
}

}  // namespace

Subject::Subject(const uint8_t* bytes, size_t size) : decisions_(nullptr, 0) {
  file_bytes_ = FileBytes(bytes, size);
  const bool whole = file_bytes_ > 0;
  if (!whole) file_bytes_ = size;  // the loader must reject it
  decisions_ = Decisions(bytes + file_bytes_, size - file_bytes_);
  file_ = static_cast<uint8_t*>(aligned_alloc(64, (file_bytes_ + 63) / 64 * 64));
  if (file_ == nullptr) abort();
  if (size > 0) memcpy(file_, bytes, file_bytes_);
  if (whole) Seal(file_, file_bytes_);
}

Subject::~Subject() {
  Close();
  free(file_);
}

void Subject::Open(int threads) {
  if (model_ != nullptr) return;
  char why[128];
  trimtab_options options = {};
  options.threads = threads;
  options.max_memory_bytes = kMaxBytes;
  if (trimtab_open_memory(file_, file_bytes_, &options, &model_, why, sizeof(why)) != TRIMTAB_OK)
    model_ = nullptr;
}

void Subject::Close() {
  if (model_ != nullptr) trimtab_close(model_);
  model_ = nullptr;
  for (void*& input : inputs_) {
    free(input);
    input = nullptr;
  }
}

bool Subject::SetInputs() {
  const uint32_t count = trimtab_input_count(model_);
  if (count > kMaxInputs) return false;
  for (uint32_t i = 0; i < count; ++i) {
    trimtab_tensor input;
    trimtab_input(model_, i, &input);
    if (input.bytes > kMaxBytes) return false;
    SetInput(i, input.bytes);
  }
  return true;
}

void Subject::SetInput(uint32_t index, size_t bytes) {
  if (index >= kMaxInputs || bytes > kMaxBytes) return;
  auto* const memory = static_cast<uint8_t*>(malloc(bytes > 0 ? bytes : 1));
  if (memory == nullptr) abort();
  // 1 as float32; out of range as an index.
  for (size_t i = 0; i < bytes; ++i) memory[i] = i % 4 == 3 ? 0x3f : i % 4 == 2 ? 0x80 : 0;
  if (trimtab_set_input(model_, index, memory, bytes) == TRIMTAB_OK) {
    free(inputs_[index]);
    inputs_[index] = memory;
  } else {
    free(memory);
  }
}

uint32_t Subject::ReadOutputs() const {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < trimtab_output_count(model_); ++i) {
    trimtab_tensor output;
    if (trimtab_output(model_, i, &output) != TRIMTAB_OK) continue;
    for (size_t j = 0; j < output.bytes; ++j) sum += static_cast<const uint8_t*>(output.data)[j];
  }
  static volatile uint32_t seen;
  seen = sum;
  return seen;
}

bool Subject::RunInto() {
  const uint32_t count = trimtab_output_count(model_);
  auto** const outputs = static_cast<void**>(calloc(2 * size_t{count} + 1, sizeof(void*)));
  if (outputs == nullptr) abort();
  void** const memory = outputs + count;
  for (uint32_t i = 0; i < count && i < kMaxInputs; ++i) {
    trimtab_tensor output;
    trimtab_output(model_, i, &output);
    if (output.bytes <= kMaxBytes) memory[i] = outputs[i] = malloc(output.bytes);
  }
  const bool ran = trimtab_run_into(model_, outputs) == TRIMTAB_OK;
  for (uint32_t i = 0; i < count; ++i) free(memory[i]);
  free(outputs);
  return ran;
}

}  // namespace trimtab

#ifdef TRIMTAB_FUZZ
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Keeps the file well-formed: mutates words of its tables, a few bytes of its constants, or the
// bytes after it.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using trimtab::FileBytes;
  const size_t file = FileBytes(data, size);
  if (file == 0 || seed % 64 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const auto tables = trimtab::Read<uint32_t>(data + trimtab::kTablesBytes);
  uint64_t random = seed * 0x9e3779b97f4a7c15u;
  const auto below = [&random](size_t n) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return n > 0 ? static_cast<size_t>(random >> 33) % n : 0;
  };
  switch (below(8)) {
    case 0:
      size = file + LLVMFuzzerMutate(data + file, size - file, max_size - file);
      break;
    case 1:
      if (file > tables) {
        uint8_t* const at = data + tables + below((file - tables) / 8) * 8;
        LLVMFuzzerMutate(at, 8, 8);
      }
      break;
    default:
      for (size_t words = 1 + below(3); words > 0; --words) {
        constexpr uint32_t kBoundaryValues[] = {
            0,   1,   2,   3,      4,      8,          63,         64,        127,
            128, 255, 256, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
        uint8_t* const at = data + trimtab::kSealed + below((tables - trimtab::kSealed) / 4) * 4;
        const size_t width = size_t{1} << below(3);
        if (below(3) == 0) {
          LLVMFuzzerMutate(at, 4, 4);
        } else {
          memcpy(at, &kBoundaryValues[below(sizeof(kBoundaryValues) / sizeof(*kBoundaryValues))],
                 width);
        }
      }
  }
  if (FileBytes(data, size) == file) trimtab::Seal(data, file);
  return size;
}
#endif
