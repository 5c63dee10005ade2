// Image files as inputs behind a camera.
#ifndef TRIMTAB_APP_IMAGE_H_
#define TRIMTAB_APP_IMAGE_H_

#include <stdint.h>

#include "runtime/api/trimtab.h"

namespace trimtab {

// An exit code of the runner, and why; a null `message` for none.
struct ImageError {
  int code;
  const char* message;
};

// Points input `index` at the pixels of a file, which stay in memory: a binary PPM or PGM with 8
// bits per channel, a JPEG or PNG file if the runner decodes them (picture/picture.h), or else a
// frame of the model's camera without a header, such as NV12. Decoded pictures take their memory
// from `*room`, a number of bytes.
ImageError SetImageFile(trimtab_model* model, uint32_t index, const char* path, uint64_t* room);

}  // namespace trimtab

#endif  // TRIMTAB_APP_IMAGE_H_
