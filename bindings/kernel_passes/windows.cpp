// Passes of windows over pixels: depthwise convolutions, pooling.
#include <algorithm>

#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

// Pointers to the taps of groups of `rows` output rows, column by column, and the distances between
// groups, pixels and columns. Neighboring windows share columns; the last group has the remaining
// rows, fewer than twice as many.
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

const PassMaker kMakers[] = {
    {"DepthwiseArgs<float>", MakePass<DepthwiseArgs<float>, DepthwisePass<float>>},
    {"DepthwiseArgs<Half>", MakePass<DepthwiseArgs<Half>, DepthwisePass<Half>>},
    {"DepthwiseArgs<int8_t>", MakePass<DepthwiseArgs<int8_t>, DepthwisePass<int8_t>>},
    {"PoolArgs<float>", MakePass<PoolArgs<float>, PoolPass<float>>},
    {"PoolArgs<Half>", MakePass<PoolArgs<Half>, PoolPass<Half>>},
    {"PoolArgs<int8_t>", MakePass<PoolArgs<int8_t>, PoolPass<int8_t>>},
};

}  // namespace
}  // namespace trimtab
