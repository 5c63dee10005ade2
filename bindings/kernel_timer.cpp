#include "bindings/kernel_timer.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "runtime/core/kernel_table.h"

namespace trimtab {
namespace {

using Pass = std::function<void()>;
template <typename T>
using Pointers = std::vector<const T*>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kMargin = 1024;  // elements behind every buffer, for last panels and vectors

// Memory that grows and is filled once, so that a pass meets no page that was never touched.
template <typename T>
class Elements {
 public:
  T* Take(size_t n) {
    if (n + kMargin > size_) {
      size_ = (n + kMargin + 63) / 64 * 64;
      memory_.reset(static_cast<T*>(aligned_alloc(64, size_ * sizeof(T))));
      if (memory_ == nullptr) throw std::bad_alloc();
      // Neither so small nor so alike that a kernel has less to do than with real values.
      for (size_t i = 0; i < size_; ++i)
        memory_.get()[i] = static_cast<T>(static_cast<float>(i % 17) / 8 - 1);
    }
    return memory_.get();
  }

 private:
  size_t size_ = 0;
  std::unique_ptr<T, decltype(&free)> memory_{nullptr, &free};
};

// Shared by all layers, as one at a time is timed.
template <typename T>
struct Memory {
  Elements<T> x, w, y;
};

template <typename T>
Memory<T>& Shared() {
  static Memory<T> memory;
  return memory;
}

// Bias and limits; quantised results have factors, too.
template <typename Args, typename T>
void SetEpilogue(Args* args, const T* bias, size_t) {
  args->bias = bias;
  args->clamp_min = 0;
  args->clamp_max = kInfinity;
}
template <typename Args>
void SetEpilogue(Args* args, const int8_t*, size_t columns) {
  args->bias = Shared<int32_t>().w.Take(columns);
  args->scale = Shared<float>().w.Take(columns);
  args->low = INT8_MIN;
  args->high = INT8_MAX;
}

// How weights are packed, for the portable kernel: others know.
template <typename Args>
void SetDepthStep(Args*) {}
void SetDepthStep(GemmArgs<int8_t>* args) { args->kr = 4; }

// One product with the column blocks of the engine's driver: rows of A are `line` pixels to an
// image row, `step` elements apart; a tap reads k elements, the next one lies an image row below.
template <typename T>
Pass GemmPass(Kernel<GemmArgs<T>> kernel, const LayerSizes& s) {
  constexpr size_t kResidentFloats = 64 * 1024;
  const size_t rows = s.at("rows"), columns = s.at("columns"), taps = s.at("taps"), k = s.at("k");
  const size_t step = s.at("step"), line = s.at("line"), mr = s.at("mr"), nr = s.at("nr");
  const size_t panels = (columns + nr - 1) / nr, depth = taps * k;
  const size_t block = std::max<size_t>(1, kResidentFloats / (depth * nr)) * nr;
  const T* const x = Shared<T>().x.Take((rows + taps * line) * step + k);
  const T* const w = Shared<T>().w.Take(panels * nr * (depth + 1));
  T* const y = Shared<T>().y.Take(rows * columns);
  Pointers<T> pointers;
  for (size_t i = 0; i < rows; i += mr) {
    for (size_t t = 0; t < taps; ++t) {
      for (size_t j = 0; j < mr; ++j)
        pointers.push_back(x + (std::min(i + j, rows - 1) + t * line) * step);
    }
  }
  return [=] {
    GemmArgs<T> args = {};
    args.taps = taps;
    args.k = k;
    args.c_stride = columns;
    SetDepthStep(&args);
    args.mr = static_cast<uint16_t>(mr);
    args.nr = static_cast<uint16_t>(nr);
    for (size_t column = 0; column < columns; column += block) {
      args.w = w + column * depth;
      SetEpilogue(&args, w + panels * nr * depth + column, panels * nr);
      args.columns = std::min(block, columns - column);
      for (size_t i = 0; i < rows; i += mr) {
        args.a = pointers.data() + i * taps;
        args.rows = std::min(mr, rows - i);
        args.c = y + i * columns + column;
        kernel(args);
      }
    }
  };
}

// Pointers to the taps of groups of `rows` output rows, column by column, and how far those of a
// group, a pixel and a column are apart. Neighbouring windows share columns; the last group has
// what is left, less than twice as many rows.
template <typename T>
struct Windows {
  Pointers<T> pointers;
  size_t groups, group_step, pixel_step, column;
};

template <typename T>
Windows<T> PointAtWindows(const LayerSizes& s, size_t rows) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t kh = s.at("kernel_h"), kw = s.at("kernel_w"), stride = s.at("stride");
  const bool shared = stride <= kw;
  const size_t columns = shared ? (width - 1) * stride + kw : width * kw;
  const size_t groups = std::max<size_t>(1, height / rows), column = (2 * rows - 2) * stride + kh;
  const size_t in_h = (groups - 1) * rows * stride + column, in_w = (width - 1) * stride + kw;
  const T* const x = Shared<T>().x.Take(in_h * in_w * channels);
  Windows<T> windows{{}, groups, columns * column, (shared ? stride : kw) * column, column};
  for (size_t group = 0; group < groups; ++group) {
    for (size_t j = 0; j < columns; ++j) {
      const size_t at = shared ? j : j / kw * stride + j % kw;
      for (size_t i = 0; i < column; ++i)
        windows.pointers.push_back(x + ((group * rows * stride + i) * in_w + at) * channels);
    }
  }
  return windows;
}

template <typename T>
Pass DepthwisePass(Kernel<DepthwiseArgs<T>> kernel, const LayerSizes& s) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t kh = s.at("kernel_h"), kw = s.at("kernel_w"), nr = s.at("nr");
  const size_t stride = s.at("stride"), group_rows = s.at("rows");
  const size_t weights = (channels + nr - 1) / nr * nr * kh * kw;
  const T* const w = Shared<T>().w.Take(weights + channels);
  T* const y = Shared<T>().y.Take(height * width * channels);
  return [=, windows = PointAtWindows<T>(s, group_rows)] {
    DepthwiseArgs<T> args = {};
    args.w = w;
    SetEpilogue(&args, w + weights, channels);
    args.kernel_h = kh;
    args.kernel_w = kw;
    args.column = windows.column;
    args.step_h = stride;
    args.step_w = windows.pixel_step / windows.column;
    args.pixels = width;
    args.channels = args.y_stride = channels;
    args.y_row_stride = width * channels;
    args.nr = static_cast<uint16_t>(nr);
    for (size_t group = 0; group < windows.groups; ++group) {
      const size_t row = group * group_rows;
      args.rows = group + 1 == windows.groups ? height - row : group_rows;
      args.a = windows.pointers.data() + group * windows.group_step;
      args.y = y + row * args.y_row_stride;
      kernel(args);
    }
  };
}

template <typename T>
Pass PoolPass(Kernel<PoolArgs<T>> kernel, const LayerSizes& s) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t kh = s.at("kernel_h"), kw = s.at("kernel_w");
  const float* const scale = Shared<float>().w.Take(width);
  T* const y = Shared<T>().y.Take(height * width * channels);
  return [=, windows = PointAtWindows<T>(s, 1)] {
    PoolArgs<T> args = {};
    args.scale = scale;
    args.kernel_h = kh;
    args.kernel_w = kw;
    args.step_w = windows.pixel_step / windows.column;
    args.pixels = width;
    args.channels = args.y_stride = channels;
    for (size_t row = 0; row < height; ++row) {
      args.a = windows.pointers.data() + row * windows.group_step;
      args.y = y + row * width * channels;
      kernel(args);
    }
  };
}

// Transformed tiles lie one after another in a block that stays in the second-level cache.
size_t TilesInBlock(size_t tile_floats) { return std::max<size_t>(1, 48 * 1024 / tile_floats); }

template <typename T>
Pass WinogradInputPass(Kernel<WinogradInputArgs<T>> kernel, const LayerSizes& s) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t tile = s.at("tile"), n = s.at("size"), block = TilesInBlock(n * n * channels);
  const size_t line = width * tile + n - tile;  // pixels
  const T* const x = Shared<T>().x.Take((height * tile + n - tile) * line * channels);
  T* const y = Shared<T>().y.Take(block * n * n * channels);
  Pointers<T> pointers;
  for (size_t t = 0; t < height * width; ++t) {
    for (size_t i = 0; i < n * n; ++i) {
      const size_t row = t / width * tile + i / n, column = t % width * tile + i % n;
      pointers.push_back(x + (row * line + column) * channels);
    }
  }
  return [=] {
    WinogradInputArgs<T> args = {};
    args.channels = args.y_stride = channels;
    args.size = static_cast<uint16_t>(n);
    for (size_t t = 0; t < height * width; ++t) {
      args.a = pointers.data() + t * n * n;
      args.y = y + t % block * n * n * channels;
      kernel(args);
    }
  };
}

template <typename T>
Pass WinogradOutputPass(Kernel<WinogradOutputArgs<T>> kernel, const LayerSizes& s) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t tile = s.at("tile"), n = s.at("size"), block = TilesInBlock(n * n * channels);
  const T* const x = Shared<T>().x.Take(block * n * n * channels);
  const T* const bias = Shared<T>().w.Take(channels);
  T* const y = Shared<T>().y.Take(height * width * tile * tile * channels);
  return [=] {
    WinogradOutputArgs<T> args = {};
    args.bias = bias;
    args.channels = args.x_stride = args.pixel_stride = channels;
    args.rows = args.columns = tile;
    args.row_stride = width * tile * channels;
    args.clamp_min = 0;
    args.clamp_max = kInfinity;
    args.tile = static_cast<uint16_t>(tile);
    args.size = static_cast<uint16_t>(n);
    for (size_t t = 0; t < height * width; ++t) {
      args.x = x + t % block * n * n * channels;
      args.y = y + (t / width * args.row_stride + t % width * channels) * tile;
      kernel(args);
    }
  };
}

template <typename T>
Pass WinogradWeightsPass(Kernel<WinogradWeightsArgs<T>> kernel, const LayerSizes& s) {
  const size_t columns = s.at("columns"), n = s.at("size"), taps = n - s.at("tile") + 1;
  WinogradWeightsArgs<T> args = {};
  args.columns = args.y_stride = columns;
  args.tile = static_cast<uint16_t>(s.at("tile"));
  args.size = static_cast<uint16_t>(n);
  args.y = Shared<T>().y.Take(n * n * columns);
  const T* const w = Shared<T>().x.Take(taps * taps * columns);
  Pointers<T> pointers;
  for (size_t i = 0; i < taps * taps; ++i) pointers.push_back(w + i * columns);
  return [=]() mutable {
    args.w = pointers.data();
    kernel(args);
  };
}

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

template <typename T>
Pass SoftmaxPass(Kernel<SoftmaxArgs<T>> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), rows = s.at("rows");
  const T* const x = Shared<T>().x.Take(n * rows);
  T* const y = Shared<T>().y.Take(n * rows);
  return [=] {
    for (size_t i = 0; i < rows; ++i) kernel({x + i * n, y + i * n, n, 1});
  };
}

// Quadrants of `rows` rows of n elements; those of one matrix lie side by side.
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
  return [=] { kernel({a, b, y, n, 0.5f, 0.75f, 2.0f, INT8_MIN, INT8_MAX}); };
}

// Pixels of a few channels.
Pass QlinearMeanPass(Kernel<QlinearMeanArgs<int8_t>> kernel, const LayerSizes& s) {
  constexpr size_t kChannels = 64;
  const size_t pixels = std::max<size_t>(1, s.at("n") / kChannels);
  const int8_t* const x = Shared<int8_t>().x.Take(pixels * kChannels);
  int8_t* const y = Shared<int8_t>().y.Take(kChannels);
  return [=] { kernel({x, y, pixels, kChannels, kChannels, 0, 0.1f, 0, INT8_MIN, INT8_MAX}); };
}

template <typename Args, Pass (*make)(Kernel<Args>, const LayerSizes&)>
Pass Make(KernelFunction kernel, const LayerSizes& sizes) {
  return make(reinterpret_cast<Kernel<Args>>(kernel), sizes);
}

struct Maker {
  const char* args_type;
  Pass (*make)(KernelFunction kernel, const LayerSizes& sizes);
};

constexpr Maker kMakers[] = {
    {"GemmArgs<int8_t>", Make<GemmArgs<int8_t>, GemmPass<int8_t>>},
    {"DepthwiseArgs<int8_t>", Make<DepthwiseArgs<int8_t>, DepthwisePass<int8_t>>},
    {"LookUpArgs<int8_t>", Make<LookUpArgs<int8_t>, LookUpPass>},
    {"QuantizeArgs<float>", Make<QuantizeArgs<float>, QuantizePass>},
    {"QlinearAddArgs<int8_t>", Make<QlinearAddArgs<int8_t>, QlinearAddPass>},
    {"QlinearMeanArgs<int8_t>", Make<QlinearMeanArgs<int8_t>, QlinearMeanPass>},
    {"PoolArgs<int8_t>", Make<PoolArgs<int8_t>, PoolPass<int8_t>>},
    {"GemmArgs<float>", Make<GemmArgs<float>, GemmPass<float>>},
    {"GemmArgs<Half>", Make<GemmArgs<Half>, GemmPass<Half>>},
    {"DepthwiseArgs<float>", Make<DepthwiseArgs<float>, DepthwisePass<float>>},
    {"DepthwiseArgs<Half>", Make<DepthwiseArgs<Half>, DepthwisePass<Half>>},
    {"PoolArgs<float>", Make<PoolArgs<float>, PoolPass<float>>},
    {"PoolArgs<Half>", Make<PoolArgs<Half>, PoolPass<Half>>},
    {"WinogradInputArgs<float>", Make<WinogradInputArgs<float>, WinogradInputPass<float>>},
    {"WinogradInputArgs<Half>", Make<WinogradInputArgs<Half>, WinogradInputPass<Half>>},
    {"WinogradOutputArgs<float>", Make<WinogradOutputArgs<float>, WinogradOutputPass<float>>},
    {"WinogradOutputArgs<Half>", Make<WinogradOutputArgs<Half>, WinogradOutputPass<Half>>},
    {"WinogradWeightsArgs<float>", Make<WinogradWeightsArgs<float>, WinogradWeightsPass<float>>},
    {"WinogradWeightsArgs<Half>", Make<WinogradWeightsArgs<Half>, WinogradWeightsPass<Half>>},
    {"StrassenSumsArgs<float>", Make<StrassenSumsArgs<float>, StrassenSumsPass<float>>},
    {"StrassenResultsArgs<float>", Make<StrassenResultsArgs<float>, StrassenResultsPass<float>>},
    {"UnaryArgs<float>", Make<UnaryArgs<float>, UnaryPass<float>>},
    {"UnaryArgs<Half>", Make<UnaryArgs<Half>, UnaryPass<Half>>},
    {"BinaryArgs<float>", Make<BinaryArgs<float>, BinaryPass<float>>},
    {"BinaryArgs<Half>", Make<BinaryArgs<Half>, BinaryPass<Half>>},
    {"SoftmaxArgs<float>", Make<SoftmaxArgs<float>, SoftmaxPass<float>>},
    {"SoftmaxArgs<Half>", Make<SoftmaxArgs<Half>, SoftmaxPass<Half>>},
};

}  // namespace

double TimeKernel(KernelFunction kernel, const std::string& args_type, const LayerSizes& sizes,
                  double least_ns) {
  const auto* const found =
      std::find_if(std::begin(kMakers), std::end(kMakers),
                   [&](const Maker& maker) { return args_type == maker.args_type; });
  if (found == std::end(kMakers)) throw std::invalid_argument("no timer for " + args_type);
  const Pass pass = found->make(kernel, sizes);
  pass();
  for (size_t passes = 1;; passes *= 2) {
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < passes; ++i) pass();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    if (taken.count() >= least_ns) return taken.count() / static_cast<double>(passes);
  }
}

}  // namespace trimtab
