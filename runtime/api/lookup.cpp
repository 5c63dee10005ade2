// Parts of the C API that the runner does not use. They use only the rest of the API, and are a file
// of their own, so that a linker leaves them out of programs that do not use them either.
#include <string.h>

#include "runtime/api/trimtab.h"
#include "runtime/core/status.h"

namespace {

// The index of the tensor called `name` among `count` that `describe` describes.
uint32_t Find(const trimtab_model* model, const char* name, uint32_t count,
              int (*describe)(const trimtab_model*, uint32_t, trimtab_tensor*)) {
  for (uint32_t i = 0; i < count && name[0] != '\0'; ++i) {
    trimtab_tensor tensor;
    if (describe(model, i, &tensor) == TRIMTAB_OK && strcmp(tensor.name, name) == 0) return i;
  }
  return TRIMTAB_NO_INDEX;
}

}  // namespace

uint32_t trimtab_input_index(const trimtab_model* model, const char* name) {
  return Find(model, name, trimtab_input_count(model), trimtab_input);
}

uint32_t trimtab_output_index(const trimtab_model* model, const char* name) {
  return Find(model, name, trimtab_output_count(model), trimtab_output);
}

const char* trimtab_version(void) { return TRIMTAB_VERSION; }

const char* trimtab_status_text(int status) {
  switch (status) {
    case TRIMTAB_OK:
      return TRIMTAB_TEXT("no error");
    case TRIMTAB_BAD_FILE:
      return TRIMTAB_TEXT("not a .ttm file, or truncated or damaged");
    case TRIMTAB_BAD_VERSION:
      return TRIMTAB_TEXT("another version of the .ttm format or of an operator's schema");
    case TRIMTAB_BAD_PROGRAM:
      return TRIMTAB_TEXT("an operator's inputs, shapes or attributes violate its rules");
    case TRIMTAB_MISSING_OP:
      return TRIMTAB_TEXT("this binary lacks an operator");
    case TRIMTAB_MISSING_KERNEL:
      return TRIMTAB_TEXT("this binary lacks a kernel, or this CPU its instructions");
    case TRIMTAB_OUT_OF_MEMORY:
      return TRIMTAB_TEXT("out of memory");
    case TRIMTAB_BAD_ARGUMENT:
      return TRIMTAB_TEXT("an argument is not valid");
    case TRIMTAB_IO:
      return TRIMTAB_TEXT("a file cannot be opened or read");
    case TRIMTAB_MEMORY_LIMIT:
      return TRIMTAB_TEXT("more memory is needed than allowed");
    case TRIMTAB_BAD_PLUGIN:
      return TRIMTAB_TEXT("not a plug-in, another ABI, or an operator's name is taken");
    case TRIMTAB_STATIC_BINARY:
      return TRIMTAB_TEXT("a static binary cannot load plug-ins");
    default:
      return TRIMTAB_TEXT("unknown status");
  }
}
