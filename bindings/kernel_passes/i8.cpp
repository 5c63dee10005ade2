// Passes of int8 kernels.
#include <algorithm>

#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

// Rows of n elements.

Pass LookUpPass(Kernel<LookUpArgs<int8_t>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n");
  const int8_t* const x = Shared<int8_t>().x.Take(n);
  const int8_t* const table = Shared<int8_t>().w.Take(256);
  int8_t* const y = Shared<int8_t>().y.Take(n);
  return [=] { kernel({x, table, y, n}); };
}

Pass QuantizePass(Kernel<QuantizeArgs<float>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n");
  const float* const x = Shared<float>().x.Take(n);
  auto* const y = reinterpret_cast<uint8_t*>(Shared<int8_t>().y.Take(n));
  return [=] { kernel({x, y, n, 0.01f, 3, INT8_MIN, INT8_MAX}); };
}

Pass QlinearAddPass(Kernel<QlinearAddArgs<int8_t>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n");
  const int8_t* const a = Shared<int8_t>().x.Take(n);
  const int8_t* const b = Shared<int8_t>().w.Take(n);
  int8_t* const y = Shared<int8_t>().y.Take(n);
  return [=] { kernel({a, b, y, n, 0.5f, 0.75f, 2.0f, INT8_MIN, INT8_MAX}); };
}

// Pixels of a few channels.
Pass QlinearMeanPass(Kernel<QlinearMeanArgs<int8_t>> kernel, const LayerSizes& s) {
  constexpr size_t kChannels = 64;
  const size_t pixels = std::max<size_t>(1, s.at("n") / kChannels);
  const int8_t* const x = Shared<int8_t>().x.Take(pixels * kChannels);
  int8_t* const y = Shared<int8_t>().y.Take(kChannels);
  return [=] {
    const int32_t start[kChannels] = {};
    kernel({x, start, nullptr, y, pixels, kChannels, kChannels, 0.1f, 0, INT8_MIN, INT8_MAX});
  };
}

Pass QlinearMulPass(Kernel<QlinearMulArgs<int8_t>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n");
  const int8_t* const a = Shared<int8_t>().x.Take(n);
  const int8_t* const b = Shared<int8_t>().w.Take(n);
  int8_t* const y = Shared<int8_t>().y.Take(n);
  return [=] { kernel({a, b, y, n, 3, -128, 0.01f, -3, INT8_MIN, INT8_MAX}); };
}

// Means over 3x3 windows of a few channels, one pixel per call.
Pass QlinearPoolPass(Kernel<QlinearPoolArgs<int8_t>> kernel, const LayerSizes& s) {
  constexpr size_t kChannels = 64, kWindow = 3, kTaps = kWindow * kWindow;
  const size_t pixels = std::max<size_t>(1, s.at("n") / kChannels);
  const int8_t* const x = Shared<int8_t>().x.Take(kTaps * kChannels);
  int8_t* const y = Shared<int8_t>().y.Take(pixels * kChannels);
  return [=] {
    const int8_t* taps[kTaps];
    for (size_t t = 0; t < kTaps; ++t) taps[t] = x + t * kChannels;
    const float scale = 1.0f / kTaps;
    for (size_t p = 0; p < pixels; ++p)
      kernel({{taps, &scale, y + p * kChannels, kWindow, kWindow, 1, 1, kChannels, kChannels},
              0,
              0,
              INT8_MIN,
              INT8_MAX});
  };
}

const PassMaker kMakers[] = {
    {"LookUpArgs<int8_t>", MakePass<LookUpArgs<int8_t>, LookUpPass>},
    {"QuantizeArgs<float>", MakePass<QuantizeArgs<float>, QuantizePass>},
    {"QlinearAddArgs<int8_t>", MakePass<QlinearAddArgs<int8_t>, QlinearAddPass>},
    {"QlinearMeanArgs<int8_t>", MakePass<QlinearMeanArgs<int8_t>, QlinearMeanPass>},
    {"QlinearMulArgs<int8_t>", MakePass<QlinearMulArgs<int8_t>, QlinearMulPass>},
    {"QlinearPoolArgs<int8_t>", MakePass<QlinearPoolArgs<int8_t>, QlinearPoolPass>},
};

}  // namespace
}  // namespace trimtab
