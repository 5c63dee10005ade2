// Passes over rows of elements.
#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

template <typename T>
Pass UnaryPass(Kernel<UnaryArgs<T>> kernel, const LayerSizes& s) {
  UnaryArgs<T> args = {};
  args.n = s.at("n");
  args.x = Shared<T>().x.Take(args.n);
  args.y = Shared<T>().y.Take(args.n);
  args.alpha = 0.25f;
  args.beta = 0.75f;
  return [=] { kernel(args); };
}

// `runs` rows of n elements with the same second operand.
template <typename T>
Pass BinaryPass(Kernel<BinaryArgs<T>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), runs = s.at("runs");
  const T* const a = Shared<T>().x.Take(n * runs);
  const T* const b = Shared<T>().w.Take(n);
  T* const y = Shared<T>().y.Take(n * runs);
  return [=] { kernel({a, b, y, n, runs, n, 0, n, 1, 1}); };
}

// A row of n elements of four planes, as sums of nine rows.
Pass PlaneRowsPass(Kernel<PlaneRowsArgs<float>> kernel, const LayerSizes& s) {
  constexpr size_t kPlanes = 4, kTaps = 9;
  static const size_t offsets[kTaps] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  PlaneRowsArgs<float> args = {};
  args.n = args.y_plane = s.at("n");
  args.taps = kTaps;
  args.planes = kPlanes;
  args.offsets = offsets;
  args.x = Shared<float>().x.Take(args.n);
  args.w = Shared<float>().w.Take(kTaps * kPlanes);
  args.y = Shared<float>().y.Take(args.n * kPlanes);
  args.clamp_max = kInfinity;
  return [=] { kernel(args); };
}

template <typename T>
Pass SoftmaxPass(Kernel<SoftmaxArgs<T>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), rows = s.at("rows");
  const T* const x = Shared<T>().x.Take(n * rows);
  T* const y = Shared<T>().y.Take(n * rows);
  return [=] {
    for (size_t i = 0; i < rows; ++i) kernel({x + i * n, y + i * n, n});
  };
}

template <typename T>
Pass SoftmaxColumnsPass(Kernel<SoftmaxColumnsArgs<T>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), rows = s.at("rows");
  const T* const x = Shared<T>().x.Take(n * rows);
  T* const y = Shared<T>().y.Take(n * rows);
  return [=] { kernel({x, y, n, rows, rows}); };
}

template <typename T>
Pass NormalizePass(Kernel<NormalizeArgs<T>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), rows = s.at("rows");
  const T* const x = Shared<T>().x.Take(n * rows);
  const T* const w = Shared<T>().w.Take(2 * n);
  T* const y = Shared<T>().y.Take(n * rows);
  return [=] {
    for (size_t i = 0; i < rows; ++i) kernel({x + i * n, w, w + n, y + i * n, n, 1e-5f, 1});
  };
}

// A step of Adam, which has the most states.
Pass UpdatePass(Kernel<UpdateArgs<float>> kernel, const LayerSizes& s) {
  static Elements<float> mean, square;
  UpdateArgs<float> args = {};
  args.n = s.at("n");
  float* const values[] = {Shared<float>().y.Take(args.n), mean.Take(args.n), square.Take(args.n)};
  for (int j = 0; j < 3; ++j) args.x[j] = args.y[j] = values[j];
  args.gradient = Shared<float>().x.Take(args.n);
  args.rate = args.scale = args.momentum = 0.5f;
  args.momentum2 = 0;  // so that squares are positive
  args.delta = 1;
  return [=] { kernel(args); };
}

const PassMaker kMakers[] = {
    {"UnaryArgs<float>", MakePass<UnaryArgs<float>, UnaryPass<float>>},
    {"UnaryArgs<Half>", MakePass<UnaryArgs<Half>, UnaryPass<Half>>},
    {"BinaryArgs<float>", MakePass<BinaryArgs<float>, BinaryPass<float>>},
    {"BinaryArgs<Half>", MakePass<BinaryArgs<Half>, BinaryPass<Half>>},
    {"PlaneRowsArgs<float>", MakePass<PlaneRowsArgs<float>, PlaneRowsPass>},
    {"SoftmaxArgs<float>", MakePass<SoftmaxArgs<float>, SoftmaxPass<float>>},
    {"SoftmaxArgs<Half>", MakePass<SoftmaxArgs<Half>, SoftmaxPass<Half>>},
    {"SoftmaxColumnsArgs<float>", MakePass<SoftmaxColumnsArgs<float>, SoftmaxColumnsPass<float>>},
    {"SoftmaxColumnsArgs<Half>", MakePass<SoftmaxColumnsArgs<Half>, SoftmaxColumnsPass<Half>>},
    {"NormalizeArgs<float>", MakePass<NormalizeArgs<float>, NormalizePass<float>>},
    {"UpdateArgs<float>", MakePass<UpdateArgs<float>, UpdatePass>},
    {"NormalizeArgs<Half>", MakePass<NormalizeArgs<Half>, NormalizePass<Half>>},
};

}  // namespace
}  // namespace trimtab
