// Opens and runs a model; its first decision is the number of threads.
#include "tests/fuzz/subject.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  trimtab::Subject subject(data, size);
  subject.Open(1 + subject.decisions().Take() % 3);
  if (subject.model() == nullptr || !subject.SetInputs()) return 0;
  if (trimtab_run(subject.model()) == TRIMTAB_OK) subject.ReadOutputs();
  subject.RunInto();
  trimtab_verify(subject.model());
  return 0;
}
