// Resizes networks of several precisions and plans to any size, nothing included, and back: the
// results must be those of before.
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/subject.h"

namespace {

// All outputs of a model, one after the other.
struct Results {
  uint8_t* bytes = nullptr;
  size_t size = 0;

  explicit Results(const trimtab_model* model) {
    for (uint32_t i = 0; i < trimtab_output_count(model); ++i) {
      trimtab_tensor output;
      if (trimtab_output(model, i, &output) != TRIMTAB_OK || output.bytes == 0) continue;
      bytes = static_cast<uint8_t*>(realloc(bytes, size + output.bytes));
      if (bytes == nullptr) abort();
      memcpy(bytes + size, output.data, output.bytes);
      size += output.bytes;
    }
  }
  ~Results() { free(bytes); }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  bool operator==(const Results& other) const {
    return size == other.size && (size == 0 || memcmp(bytes, other.bytes, size) == 0);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int32_t kSizes[] = {0, 0, 0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 33, 4096};
  trimtab::Subject subject(data, size);
  trimtab::Decisions decisions = subject.decisions();
  subject.Open(1 + decisions.Take() % 3);
  trimtab_model* const model = subject.model();
  if (model == nullptr || trimtab_input_count(model) == 0 || !subject.SetInputs()) return 0;
  trimtab_tensor first;
  trimtab_input(model, 0, &first);
  const trimtab_tensor before = first;
  if (trimtab_run(model) != TRIMTAB_OK) return 0;
  const Results results(model);
  for (int turn = 0; turn < 4 && decisions.more(); ++turn) {
    for (int32_t i = 0; i < first.rank; ++i) {
      const uint8_t choice = decisions.Take();
      first.dims[i] = choice % 2 == 0 ? kSizes[choice / 2 % 16] : before.dims[i];
    }
    trimtab_resize_input(model, 0, first.dims, first.rank);
    if (!subject.SetInputs()) return 0;
    if (trimtab_run(model) == TRIMTAB_OK) subject.ReadOutputs();
  }
  // The sizes that a model was opened with always fit it.
  if (trimtab_resize_input(model, 0, before.dims, before.rank) != TRIMTAB_OK) abort();
  if (!subject.SetInputs() || trimtab_run(model) != TRIMTAB_OK) abort();
  if (!(Results(model) == results)) abort();
  return 0;
}
