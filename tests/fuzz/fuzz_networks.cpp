// Resizes networks of several precisions and plans to any size, nothing included, and back: a model
// computes at the sizes that it was opened with, whatever was between.
#include <stdlib.h>

#include "tests/fuzz/subject.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int32_t kSizes[] = {0, 0, 0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 33, 4096};
  trimtab::Subject subject(data, size);
  trimtab::Decisions decisions = subject.decisions();
  subject.Open(decisions.Take() % 16 == 0 ? 2 : 1);  // threads that wait for each other are slow
  trimtab_model* const model = subject.model();
  if (model == nullptr || trimtab_input_count(model) == 0 || !subject.SetInputs()) return 0;
  trimtab_tensor first;
  trimtab_input(model, 0, &first);
  const trimtab_tensor before = first;
  if (trimtab_run(model) != TRIMTAB_OK) return 0;
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
  subject.ReadOutputs();
  return 0;
}
