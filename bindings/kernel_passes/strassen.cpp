// Passes of the sums of Strassen's algorithm.
#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

// Quadrants of `rows` rows of n elements; quadrants of one matrix are side by side.
template <typename T>
Pass StrassenSumsPass(Kernel<StrassenSumsArgs<T>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), rows = s.at("rows");
  const T* const x = Shared<T>().x.Take(4 * rows * n);
  T* const y = Shared<T>().y.Take(4 * rows * n);
  return [=] {
    for (size_t i = 0; i < rows; ++i) {
      const T* const upper = x + 2 * i * n;
      const T* const lower = upper + 2 * rows * n;
      kernel({upper, upper + n, lower, lower + n, y + 4 * i * n, n});
    }
  };
}

template <typename T>
Pass StrassenResultsPass(Kernel<StrassenResultsArgs<T>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), rows = s.at("rows");
  T* const y = Shared<T>().y.Take(4 * rows * n);
  return [=] {
    StrassenResultsArgs<T> args = {};
    args.n = n;
    args.clamp_min = 0;
    args.clamp_max = kInfinity;
    for (size_t i = 0; i < rows; ++i) {
      args.top = y + 2 * i * n;
      args.bottom = args.top + 2 * rows * n;
      kernel(args);
    }
  };
}

const PassMaker kMakers[] = {
    {"StrassenSumsArgs<float>", MakePass<StrassenSumsArgs<float>, StrassenSumsPass<float>>},
    {"StrassenResultsArgs<float>",
     MakePass<StrassenResultsArgs<float>, StrassenResultsPass<float>>},
};

}  // namespace
}  // namespace trimtab
