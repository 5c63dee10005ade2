// JPEG and PNG files, which only runners that were built with `--pictures` decode.
#ifndef TRIMTAB_APP_PICTURE_H_
#define TRIMTAB_APP_PICTURE_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/api/trimtab.h"

namespace trimtab {

// Whether a file begins as JPEG or PNG files do.
inline bool IsPicture(const uint8_t* data, size_t bytes) {
  if (bytes < 4) return false;
  const bool is_jpeg = data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff;
  return is_jpeg || (data[0] == 0x89 && data[1] == 'P' && data[2] == 'N' && data[3] == 'G');
}

// Decodes a file to RGB pixels, which stay in memory; false if it is damaged or has a side above
// 16,384 pixels, and in runners without the decoder. Transparency and orientation are ignored.
bool DecodePicture(const uint8_t* data, size_t bytes, trimtab_image* image);

}  // namespace trimtab

#endif  // TRIMTAB_APP_PICTURE_H_
