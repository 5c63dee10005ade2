// Decoders of JPEG and PNG files, which only runners that were built with `--pictures` contain.
//
// No byte of a file is trusted: reads and writes stay within the file and the given memory, and the
// work is bounded by the size of the picture and of the file. Transparency and orientation are
// ignored.
#ifndef TRIMTAB_APP_PICTURE_PICTURE_H_
#define TRIMTAB_APP_PICTURE_PICTURE_H_

#include <stddef.h>
#include <stdint.h>

namespace trimtab {

constexpr int32_t kMaxPictureSide = 1 << 14;

// Whether a file begins as JPEG or PNG files do.
inline bool IsPicture(const uint8_t* data, size_t bytes) {
  if (bytes < 4) return false;
  const bool is_jpeg = data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff;
  return is_jpeg || (data[0] == 0x89 && data[1] == 'P' && data[2] == 'N' && data[3] == 'G');
}

// The size of a picture, and of the memory that is needed only while it is decoded.
struct PictureSize {
  int32_t width = 0;
  int32_t height = 0;
  uint64_t work_bytes = 0;

  uint64_t pixel_bytes() const { return uint64_t{3} * width * height; }
};

// Reads the header of a file. Returns null, or why the file is not read.
const char* MeasurePicture(const uint8_t* data, size_t bytes, PictureSize* size);

// Decodes a file of this `size`, which `MeasurePicture` gave. `pixels` receives RGB, `work` is
// zeroed. Returns null, or why the file is not read; the pixels are then of no use.
const char* DecodePicture(const uint8_t* data, size_t bytes, const PictureSize& size,
                          uint8_t* pixels, uint8_t* work);

}  // namespace trimtab

#endif  // TRIMTAB_APP_PICTURE_PICTURE_H_
