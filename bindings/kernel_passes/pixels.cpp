// Passes of rows of pixels.
#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

// Rows of at most kRow pixels, each of two neighbors, as in a bilinear resize of nv12.
Pass CameraRowPass(Kernel<CameraRowArgs<uint8_t>> kernel, const LayerSizes& s) {
  constexpr size_t kRow = 640;
  const size_t n = s.at("n");
  CameraRowArgs<uint8_t> args = {};
  args.n = (n < kRow ? n : kRow) / kCameraUnit * kCameraUnit;
  args.taps = 2;
  args.x = reinterpret_cast<const uint32_t*>(Shared<uint8_t>().x.Take(8 * kRow));
  args.w = Shared<float>().w.Take(2 * kRow);
  for (size_t c = 0; c < 3; ++c) {
    args.y[c] = Shared<float>().y.Take(3 * kRow) + c * kRow;
    args.factor[c] = 0.5f;
  }
  for (float& weight : args.weight) weight = 1.25f;
  args.colors = kCameraYuv;
  const size_t rows = args.n == 0 ? 0 : n / args.n;
  return [=] {
    for (size_t i = 0; i < rows; ++i) kernel(args);
  };
}

const PassMaker kMakers[] = {
    {"CameraRowArgs<uint8_t>", MakePass<CameraRowArgs<uint8_t>, CameraRowPass>},
};

}  // namespace
}  // namespace trimtab
