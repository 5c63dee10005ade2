// Resizes inputs repeatedly and runs the model: a rejected size must leave the model as it was.
#include "tests/fuzz/subject.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int32_t kSizes[] = {1,  2,  3,  5,   7,    8,  9,       16,
                                17, 31, 64, 255, 4096, -1, 1 << 20, INT32_MAX};
  trimtab::Subject subject(data, size);
  trimtab::Decisions decisions = subject.decisions();
  subject.Open(1);
  for (int turn = 0; turn < 8 && subject.model() != nullptr; ++turn) {
    const uint32_t inputs = trimtab_input_count(subject.model());
    if (inputs == 0) return 0;
    const uint32_t index = decisions.Take() % inputs;
    trimtab_tensor input;
    trimtab_input(subject.model(), index, &input);
    for (int32_t i = 0; i < input.rank; ++i) {
      const uint8_t choice = decisions.Take();
      if (choice % 3 == 0) input.dims[i] = kSizes[choice / 3 % 16];
    }
    trimtab_resize_input(subject.model(), index, input.dims, input.rank);
    if (!subject.SetInputs()) return 0;
    if (trimtab_run(subject.model()) == TRIMTAB_OK) subject.ReadOutputs();
    if (!decisions.more()) return 0;
  }
  return 0;
}
