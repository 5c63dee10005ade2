// The place of a picture in the input of a network, for cameras and for the compiler.
#ifndef TRIMTAB_CORE_FRAME_FIT_H_
#define TRIMTAB_CORE_FRAME_FIT_H_

#include <stdint.h>

namespace trimtab {

// The attribute `fit` of a camera, but for a fixed one, which is in the model.
enum class FrameFit : uint32_t {
  kStretch = 1,
  kLetterbox,
  kLetterboxTopLeft,
  kCenterCrop,
  kCenterCropRounded,
  kLine
};

struct FrameSize {
  int64_t height, width;
};

// Sets the content of a picture in a result: top, left, height, width; it may exceed the result.
// `shorter`: the picture's shorter side before a center crop, in pixels of the result. Inlined, so
// that a binary has the code of its camera's fit only.
__attribute__((always_inline)) inline void FitFrame(FrameFit fit, int64_t shorter,
                                                    FrameSize picture, FrameSize result,
                                                    int64_t (&content)[4]) {
  // Half to even, as Python's round.
  const auto round = [](double v) { return static_cast<int64_t>((v + 0x1.8p52) - 0x1.8p52); };
  const auto at_least_one = [](int64_t v) { return v < 1 ? 1 : v; };
  const int64_t down = result.height, across = result.width;
  int64_t w = across, h = down;
  if (fit == FrameFit::kCenterCrop) {  // rounded as torchvision does
    w = h = shorter;
    if (picture.width <= picture.height) {
      h = at_least_one(shorter * picture.height / picture.width);
    } else {
      w = at_least_one(shorter * picture.width / picture.height);
    }
    content[0] = -round(static_cast<double>(h - down) / 2);
    content[1] = -round(static_cast<double>(w - across) / 2);
  } else if (fit == FrameFit::kCenterCropRounded) {  // rounded as PaddleClas does
    const int64_t least = picture.width < picture.height ? picture.width : picture.height;
    const double ratio = static_cast<double>(shorter) / static_cast<double>(least);
    w = round(static_cast<double>(picture.width) * ratio);
    h = round(static_cast<double>(picture.height) * ratio);
    content[0] = -((h - down) / 2);
    content[1] = -((w - across) / 2);
  } else if (fit == FrameFit::kLine) {  // of text, rounded as PaddleOCR's RecResizeImg does
    const double ratio = static_cast<double>(picture.width) / static_cast<double>(picture.height);
    const double length = static_cast<double>(down) * ratio;
    if (length < static_cast<double>(across)) {
      w = static_cast<int64_t>(length);
      w += static_cast<double>(w) < length ? 1 : 0;
    }
    content[0] = content[1] = 0;
  } else {
    if (fit != FrameFit::kStretch) {  // a letterbox, rounded as Ultralytics does
      const double x = static_cast<double>(across) / static_cast<double>(picture.width);
      const double y = static_cast<double>(down) / static_cast<double>(picture.height);
      const double ratio = x < y ? x : y;
      w = at_least_one(round(static_cast<double>(picture.width) * ratio));
      h = at_least_one(round(static_cast<double>(picture.height) * ratio));
    }
    const bool is_centered = fit == FrameFit::kLetterbox;
    content[0] = is_centered ? round(static_cast<double>(down - h) / 2 - 0.1) : 0;
    content[1] = is_centered ? round(static_cast<double>(across - w) / 2 - 0.1) : 0;
  }
  content[2] = h;
  content[3] = w;
}

}  // namespace trimtab

#endif  // TRIMTAB_CORE_FRAME_FIT_H_
