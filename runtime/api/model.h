// An open model, for the files of the C API.
#ifndef TRIMTAB_API_MODEL_H_
#define TRIMTAB_API_MODEL_H_

#include <stddef.h>

#include "runtime/api/trimtab.h"
#include "runtime/core/executor.h"

struct trimtab_model {
  trimtab::Program program;
  trimtab::Executor executor;
  const void* map = nullptr;  // set if the model mapped the file itself
  size_t map_bytes = 0;
  bool mapped = false;  // the bytes are pages of a file, whoever mapped it
  trimtab_observer observer = nullptr;
  void* observer_context = nullptr;
  char error[256] = "";
};

namespace trimtab {

// The code of a status, whose text becomes the model's last error.
int Report(trimtab_model* model, const Status& status);

}  // namespace trimtab

#endif  // TRIMTAB_API_MODEL_H_
