// The transforms of Winograd's convolution.
#include <algorithm>

#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

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

const PassMaker kMakers[] = {
    {"WinogradInputArgs<float>", MakePass<WinogradInputArgs<float>, WinogradInputPass<float>>},
    {"WinogradInputArgs<Half>", MakePass<WinogradInputArgs<Half>, WinogradInputPass<Half>>},
    {"WinogradOutputArgs<float>", MakePass<WinogradOutputArgs<float>, WinogradOutputPass<float>>},
    {"WinogradOutputArgs<Half>", MakePass<WinogradOutputArgs<Half>, WinogradOutputPass<Half>>},
    {"WinogradWeightsArgs<float>",
     MakePass<WinogradWeightsArgs<float>, WinogradWeightsPass<float>>},
    {"WinogradWeightsArgs<Half>", MakePass<WinogradWeightsArgs<Half>, WinogradWeightsPass<Half>>},
};

}  // namespace
}  // namespace trimtab
