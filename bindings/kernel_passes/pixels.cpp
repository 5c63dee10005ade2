// Passes of rows of pixels.
#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

// Rows of at most kRow pixels, each of two neighbors, as in a bilinear resize of nv12 to a sixth.
Pass CameraRowPass(Kernel<CameraRowArgs<uint8_t>> kernel, const LayerSizes& s) {
  constexpr size_t kRow = 640, kStep = 6;
  const size_t n = s.at("n");
  CameraRowArgs<uint8_t> args = {};
  args.n = (n < kRow ? n : kRow) / kCameraUnit * kCameraUnit;
  args.taps = 2;
  const auto offsets = std::make_shared<std::vector<int32_t>>();
  for (size_t i = 0; i < 2 * args.n; ++i) {
    const size_t tap = i / args.n, pixel = kStep * (i % args.n) + tap;
    offsets->push_back(static_cast<int32_t>(pixel));
  }
  for (size_t i = 0; i < 2 * args.n; ++i) offsets->push_back((*offsets)[i] / 2 * 2);
  const uint8_t* const x = Shared<uint8_t>().x.Take(2 * kStep * kRow);
  for (size_t i = 0; i < 3; ++i) args.rows[i] = x + (i > 0 ? kStep * kRow + i - 1 : 0);
  for (size_t i = 0; i < 2; ++i) args.offsets[i] = offsets->data() + i * 2 * args.n;
  args.words = Shared<uint32_t>().y.Take(2 * kRow);
  args.w = Shared<float>().w.Take(2 * kRow);
  for (size_t c = 0; c < 3; ++c) {
    args.y[c] = Shared<float>().y.Take(3 * kRow) + c * kRow;
    args.factor[c] = 0.5f;
  }
  for (float& weight : args.weight) weight = 1.25f;
  args.colors = kCameraYuv;
  const size_t rows = args.n == 0 ? 0 : n / args.n;
  return [=] {
    static_cast<void>(offsets);  // args points into it
    for (size_t i = 0; i < rows; ++i) kernel(args);
  };
}

const PassMaker kMakers[] = {
    {"CameraRowArgs<uint8_t>", MakePass<CameraRowArgs<uint8_t>, CameraRowPass>},
};

}  // namespace
}  // namespace trimtab
