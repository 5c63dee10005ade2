// Image files as inputs behind a camera.
#ifndef TRIMTAB_APP_IMAGE_H_
#define TRIMTAB_APP_IMAGE_H_

#include <stdint.h>

#include "runtime/api/trimtab.h"

namespace trimtab {

// Points input `index` at the pixels of a file, which stay in memory: a binary PPM or PGM with 8
// bits per channel, a JPEG or PNG file if the runner decodes them (picture.h), or else a frame of
// the model's camera without a header, such as NV12. Returns null, or the error.
const char* SetImageFile(trimtab_model* model, uint32_t index, const char* path);

}  // namespace trimtab

#endif  // TRIMTAB_APP_IMAGE_H_
