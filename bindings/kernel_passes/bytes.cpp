// Quantised elements.
#include <algorithm>

#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

// Of n elements each.

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
  return [=] { kernel({a, b, y, n, 0.5f, 0.75f, 2.0f, -3, INT8_MIN, INT8_MAX}); };
}

// Pixels of a few channels.
Pass QlinearMeanPass(Kernel<QlinearMeanArgs<int8_t>> kernel, const LayerSizes& s) {
  constexpr size_t kChannels = 64;
  const size_t pixels = std::max<size_t>(1, s.at("n") / kChannels);
  const int8_t* const x = Shared<int8_t>().x.Take(pixels * kChannels);
  int8_t* const y = Shared<int8_t>().y.Take(kChannels);
  return [=] { kernel({x, y, pixels, kChannels, kChannels, 0, 0.1f, 0, INT8_MIN, INT8_MAX}); };
}

const PassMaker kMakers[] = {
    {"LookUpArgs<int8_t>", MakePass<LookUpArgs<int8_t>, LookUpPass>},
    {"QuantizeArgs<float>", MakePass<QuantizeArgs<float>, QuantizePass>},
    {"QlinearAddArgs<int8_t>", MakePass<QlinearAddArgs<int8_t>, QlinearAddPass>},
    {"QlinearMeanArgs<int8_t>", MakePass<QlinearMeanArgs<int8_t>, QlinearMeanPass>},
};

}  // namespace
}  // namespace trimtab
