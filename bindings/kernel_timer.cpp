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
using Pointers = std::vector<const float*>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kMargin = 1024;  // floats behind every buffer, for last panels and vectors

// Memory that grows and is filled once, so that a pass meets no page that was never touched.
class Floats {
 public:
  float* Take(size_t n) {
    if (n + kMargin > size_) {
      size_ = (n + kMargin + 15) / 16 * 16;
      memory_.reset(static_cast<float*>(aligned_alloc(64, size_ * sizeof(float))));
      if (memory_ == nullptr) throw std::bad_alloc();
      // Neither so small nor so alike that a kernel has less to do than with real values.
      for (size_t i = 0; i < size_; ++i) memory_.get()[i] = static_cast<float>(i % 17) / 8 - 1;
    }
    return memory_.get();
  }

 private:
  size_t size_ = 0;
  std::unique_ptr<float, decltype(&free)> memory_{nullptr, &free};
};

// Shared by all layers, as one at a time is timed.
struct Memory {
  Floats x, w, y;
};

Memory& Shared() {
  static Memory memory;
  return memory;
}

// One product with the column blocks of the engine's driver: rows of A are `line` pixels to an
// image row, `step` elements apart; a tap reads k elements, the next one lies an image row below.
Pass GemmPass(Kernel<GemmF32Args> kernel, const LayerSizes& s) {
  constexpr size_t kResidentFloats = 64 * 1024;
  const size_t rows = s.at("rows"), columns = s.at("columns"), taps = s.at("taps"), k = s.at("k");
  const size_t step = s.at("step"), line = s.at("line"), mr = s.at("mr"), nr = s.at("nr");
  const size_t panels = (columns + nr - 1) / nr, depth = taps * k;
  const size_t block = std::max<size_t>(1, kResidentFloats / (depth * nr)) * nr;
  const float* const x = Shared().x.Take((rows + taps * line) * step + k);
  const float* const w = Shared().w.Take(panels * nr * (depth + 1));
  float* const y = Shared().y.Take(rows * columns);
  Pointers pointers;
  for (size_t i = 0; i < rows; i += mr) {
    for (size_t t = 0; t < taps; ++t) {
      for (size_t j = 0; j < mr; ++j)
        pointers.push_back(x + (std::min(i + j, rows - 1) + t * line) * step);
    }
  }
  return [=] {
    GemmF32Args args = {};
    args.taps = taps;
    args.k = k;
    args.c_stride = columns;
    args.clamp_min = 0;
    args.clamp_max = kInfinity;
    args.mr = static_cast<uint16_t>(mr);
    args.nr = static_cast<uint16_t>(nr);
    for (size_t column = 0; column < columns; column += block) {
      args.w = w + column * depth;
      args.bias = w + panels * nr * depth + column;
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
struct Windows {
  Pointers pointers;
  size_t groups, group_step, pixel_step, column;
};

Windows PointAtWindows(const LayerSizes& s, size_t rows) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t kh = s.at("kernel_h"), kw = s.at("kernel_w"), stride = s.at("stride");
  const bool shared = stride <= kw;
  const size_t columns = shared ? (width - 1) * stride + kw : width * kw;
  const size_t groups = std::max<size_t>(1, height / rows), column = (2 * rows - 2) * stride + kh;
  const size_t in_h = (groups - 1) * rows * stride + column, in_w = (width - 1) * stride + kw;
  const float* const x = Shared().x.Take(in_h * in_w * channels);
  Windows windows{{}, groups, columns * column, (shared ? stride : kw) * column, column};
  for (size_t group = 0; group < groups; ++group) {
    for (size_t j = 0; j < columns; ++j) {
      const size_t at = shared ? j : j / kw * stride + j % kw;
      for (size_t i = 0; i < column; ++i)
        windows.pointers.push_back(x + ((group * rows * stride + i) * in_w + at) * channels);
    }
  }
  return windows;
}

Pass DepthwisePass(Kernel<DepthwiseF32Args> kernel, const LayerSizes& s) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t kh = s.at("kernel_h"), kw = s.at("kernel_w"), nr = s.at("nr");
  const size_t stride = s.at("stride"), group_rows = stride <= kh ? kDepthwiseRows : 1;
  const size_t weights = (channels + nr - 1) / nr * nr * kh * kw;
  const float* const w = Shared().w.Take(weights + channels);
  float* const y = Shared().y.Take(height * width * channels);
  return [=, windows = PointAtWindows(s, group_rows)] {
    DepthwiseF32Args args = {};
    args.w = w;
    args.bias = w + weights;
    args.kernel_h = kh;
    args.kernel_w = kw;
    args.column = windows.column;
    args.step_h = stride;
    args.step_w = windows.pixel_step / windows.column;
    args.pixels = width;
    args.channels = args.y_stride = channels;
    args.y_row_stride = width * channels;
    args.clamp_min = 0;
    args.clamp_max = kInfinity;
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

Pass PoolPass(Kernel<PoolF32Args> kernel, const LayerSizes& s) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t kh = s.at("kernel_h"), kw = s.at("kernel_w");
  const float* const scale = Shared().w.Take(width);
  float* const y = Shared().y.Take(height * width * channels);
  return [=, windows = PointAtWindows(s, 1)] {
    PoolF32Args args = {};
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

Pass WinogradInputPass(Kernel<WinogradInputF32Args> kernel, const LayerSizes& s) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t tile = s.at("tile"), n = s.at("size"), block = TilesInBlock(n * n * channels);
  const size_t line = width * tile + n - tile;  // pixels
  const float* const x = Shared().x.Take((height * tile + n - tile) * line * channels);
  float* const y = Shared().y.Take(block * n * n * channels);
  Pointers pointers;
  for (size_t t = 0; t < height * width; ++t) {
    for (size_t i = 0; i < n * n; ++i) {
      const size_t row = t / width * tile + i / n, column = t % width * tile + i % n;
      pointers.push_back(x + (row * line + column) * channels);
    }
  }
  return [=] {
    WinogradInputF32Args args = {};
    args.channels = args.y_stride = channels;
    args.size = static_cast<uint16_t>(n);
    for (size_t t = 0; t < height * width; ++t) {
      args.a = pointers.data() + t * n * n;
      args.y = y + t % block * n * n * channels;
      kernel(args);
    }
  };
}

Pass WinogradOutputPass(Kernel<WinogradOutputF32Args> kernel, const LayerSizes& s) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t tile = s.at("tile"), n = s.at("size"), block = TilesInBlock(n * n * channels);
  const float* const x = Shared().x.Take(block * n * n * channels);
  const float* const bias = Shared().w.Take(channels);
  float* const y = Shared().y.Take(height * width * tile * tile * channels);
  return [=] {
    WinogradOutputF32Args args = {};
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

Pass UnaryPass(Kernel<UnaryF32Args> kernel, const LayerSizes& s) {
  UnaryF32Args args = {};
  args.n = s.at("n");
  args.x = Shared().x.Take(args.n);
  args.y = Shared().y.Take(args.n);
  args.alpha = 0.25f;
  args.beta = 0.75f;
  return [=] { kernel(args); };
}

// `runs` rows of n elements with the same second operand.
Pass BinaryPass(Kernel<BinaryF32Args> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), runs = s.at("runs");
  const float* const a = Shared().x.Take(n * runs);
  const float* const b = Shared().w.Take(n);
  float* const y = Shared().y.Take(n * runs);
  return [=] { kernel({a, b, y, n, runs, n, 0, n, 1, 1}); };
}

Pass SoftmaxPass(Kernel<SoftmaxF32Args> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), rows = s.at("rows");
  const float* const x = Shared().x.Take(n * rows);
  float* const y = Shared().y.Take(n * rows);
  return [=] {
    for (size_t i = 0; i < rows; ++i) kernel({x + i * n, y + i * n, n, 1});
  };
}

// Quadrants of `rows` rows of n elements; those of one matrix lie side by side.
Pass StrassenSumsPass(Kernel<StrassenSumsF32Args> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), rows = s.at("rows");
  const float* const x = Shared().x.Take(4 * rows * n);
  float* const y = Shared().y.Take(4 * rows * n);
  return [=] {
    for (size_t i = 0; i < rows; ++i) {
      const float* const upper = x + 2 * i * n;
      const float* const lower = upper + 2 * rows * n;
      kernel({upper, upper + n, lower, lower + n, y + 4 * i * n, n});
    }
  };
}

Pass StrassenResultsPass(Kernel<StrassenResultsF32Args> kernel, const LayerSizes& s) {
  const size_t n = s.at("n"), rows = s.at("rows");
  float* const y = Shared().y.Take(4 * rows * n);
  return [=] {
    StrassenResultsF32Args args = {};
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

template <typename Args, Pass (*make)(Kernel<Args>, const LayerSizes&)>
Pass Make(KernelFunction kernel, const LayerSizes& sizes) {
  return make(reinterpret_cast<Kernel<Args>>(kernel), sizes);
}

struct Maker {
  const char* args_type;
  Pass (*make)(KernelFunction kernel, const LayerSizes& sizes);
};

constexpr Maker kMakers[] = {
    {"GemmF32Args", Make<GemmF32Args, GemmPass>},
    {"DepthwiseF32Args", Make<DepthwiseF32Args, DepthwisePass>},
    {"PoolF32Args", Make<PoolF32Args, PoolPass>},
    {"WinogradInputF32Args", Make<WinogradInputF32Args, WinogradInputPass>},
    {"WinogradOutputF32Args", Make<WinogradOutputF32Args, WinogradOutputPass>},
    {"StrassenSumsF32Args", Make<StrassenSumsF32Args, StrassenSumsPass>},
    {"StrassenResultsF32Args", Make<StrassenResultsF32Args, StrassenResultsPass>},
    {"UnaryF32Args", Make<UnaryF32Args, UnaryPass>},
    {"BinaryF32Args", Make<BinaryF32Args, BinaryPass>},
    {"SoftmaxF32Args", Make<SoftmaxF32Args, SoftmaxPass>},
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
