#include "runtime/app/picture/picture.h"

#include "runtime/app/picture/decoder_support.h"

namespace trimtab {

const char* MeasurePicture(const uint8_t* data, size_t bytes, PictureSize* size) {
  if (!IsPicture(data, bytes)) return kDamagedPicture;
  return data[0] == 0xff ? MeasureJpeg(data, bytes, size) : MeasurePng(data, bytes, size);
}

const char* DecodePicture(const uint8_t* data, size_t bytes, const PictureSize& size,
                          uint8_t* pixels, uint8_t* work) {
  if (!IsPicture(data, bytes)) return kDamagedPicture;
  return data[0] == 0xff ? DecodeJpeg(data, bytes, size, pixels, work)
                         : DecodePng(data, bytes, size, pixels, work);
}

}  // namespace trimtab
