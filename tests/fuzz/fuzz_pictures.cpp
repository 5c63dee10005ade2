// Decodes a file as the runner's `--image` does: nothing but the given memory is read and written.
// Checksums of PNG chunks are not compared here (FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION).
#include <stdlib.h>

#include "runtime/app/picture/picture.h"

namespace {

constexpr uint64_t kMaxBytes = 4 << 20;  // so that an input takes milliseconds

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  trimtab::PictureSize picture;
  if (trimtab::MeasurePicture(data, size, &picture) != nullptr) return 0;
  if (picture.width < 1 || picture.width > trimtab::kMaxPictureSide || picture.height < 1 ||
      picture.height > trimtab::kMaxPictureSide)
    abort();
  if (picture.pixel_bytes() + picture.work_bytes > kMaxBytes) return 0;
  auto* const pixels = static_cast<uint8_t*>(malloc(static_cast<size_t>(picture.pixel_bytes())));
  auto* const work = static_cast<uint8_t*>(calloc(1, static_cast<size_t>(picture.work_bytes)));
  if (pixels == nullptr || work == nullptr) abort();
  static_cast<void>(trimtab::DecodePicture(data, size, picture, pixels, work));
  free(work);
  free(pixels);
  return 0;
}
