// Gives the first input images with arbitrary formats, sizes, strides and crops; every plane ends
// where its last row does.
#include <stdlib.h>

#include "tests/fuzz/subject.h"

namespace {

constexpr int32_t kMaxPixels = 4096;
constexpr int64_t kMaxBytes = 1 << 20;

// Usually a small number, sometimes one that no image has.
int32_t Number(trimtab::Decisions& decisions) {
  static const int32_t kOdd[] = {0, -1, INT32_MAX, INT32_MIN, 1 << 14, (1 << 14) + 1, 1 << 30, 255};
  const uint8_t choice = decisions.Take();
  return choice < 240 ? choice % 48 : kOdd[choice % 8];
}

// The rows of a plane, and the bytes of one, as trimtab.h describes the formats.
int64_t Rows(const trimtab_image& image, int plane) {
  const bool is_planar = image.format >= TRIMTAB_NV12 && image.format <= TRIMTAB_I420;
  return is_planar && plane > 0 ? (int64_t{image.height} + 1) / 2 : image.height;
}

int64_t RowBytes(const trimtab_image& image, int plane) {
  const int64_t width = image.width, even = (width + 1) / 2 * 2;
  switch (image.format) {
    case TRIMTAB_I420:
      return plane > 0 ? even / 2 : even;
    case TRIMTAB_NV12:
    case TRIMTAB_NV21:
      return even;
    case TRIMTAB_YUYV:
    case TRIMTAB_UYVY:
      return even * 2;
    case TRIMTAB_RGB:
    case TRIMTAB_BGR:
      return width * 3;
    case TRIMTAB_GRAY:
      return width;
    default:  // also the model's own format, whatever that is
      return even * 4;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  trimtab::Subject subject(data, size);
  trimtab::Decisions decisions = subject.decisions();
  subject.Open(1 + decisions.Take() % 2);
  if (subject.model() == nullptr || !subject.SetInputs()) return 0;
  for (int turn = 0; turn < 4 && decisions.more(); ++turn) {
    trimtab_image image = {};
    image.format = decisions.Take() % 16 != 0 ? decisions.Take() % 13 : Number(decisions);
    image.width = Number(decisions);
    image.height = Number(decisions);
    image.crop_left = Number(decisions);
    image.crop_top = Number(decisions);
    image.crop_width = Number(decisions);
    image.crop_height = Number(decisions);
    const bool is_small = image.width > 0 && image.width <= kMaxPixels && image.height > 0 &&
                          image.height <= kMaxPixels;
    void* planes[3] = {};
    for (int i = 0; i < 3; ++i) {
      const uint8_t choice = decisions.Take();
      const int64_t bytes = is_small ? RowBytes(image, i) : 1;
      // Mostly rows that fit; some without padding, some too short, some that no image has.
      const int64_t stride = choice < 128   ? bytes + choice % 32
                             : choice < 192 ? 0
                             : choice < 240 ? choice - 192
                                            : Number(decisions);
      image.strides[i] = static_cast<int32_t>(stride);
      const int64_t step = stride > 0 ? stride : bytes;
      const int64_t total = is_small ? (Rows(image, i) - 1) * step + bytes : 1;
      if (choice == 255 || total <= 0 || total > kMaxBytes) continue;  // a plane is missing
      planes[i] = calloc(1, static_cast<size_t>(total));
      image.planes[i] = static_cast<const uint8_t*>(planes[i]);
    }
    const uint32_t input = decisions.Take() % 16 == 15 ? 1 : 0;
    if (trimtab_set_image(subject.model(), input, &image) == TRIMTAB_OK &&
        trimtab_run(subject.model()) == TRIMTAB_OK)
      subject.ReadOutputs();
    // The input points at freed memory unless it is set again.
    for (void* plane : planes) free(plane);
    if (!subject.SetInputs()) return 0;
  }
  return 0;
}
