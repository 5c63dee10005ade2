// Passes of the transforms of Winograd convolution.
#include <algorithm>

#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

// Number of tiles in a block that stays in the second-level cache.
size_t TilesInBlock(size_t tile_floats) { return std::max<size_t>(1, 48 * 1024 / tile_floats); }

size_t StrideOf(size_t tile, size_t size) {
  for (const WinogradTile& known : kWinogradTiles)
    if (known.tile == tile && known.size == size) return known.stride;
  return 1;
}

template <typename T>
Pass WinogradInputPass(Kernel<WinogradInputArgs<T>> kernel, const LayerSizes& s) {
  const size_t height = s.at("height"), width = s.at("width"), channels = s.at("channels");
  const size_t tile = s.at("tile"), n = s.at("size"), block = TilesInBlock(n * n * channels);
  const size_t step = tile * StrideOf(tile, n), over = n - step;  // in pixels
  const size_t line = width * step + over;
  const T* const x = Shared<T>().x.Take((height * step + over) * line * channels);
  T* const y = Shared<T>().y.Take(block * n * n * channels);
  Pointers<T> pointers;
  for (size_t t = 0; t < height * width; ++t) {
    for (size_t i = 0; i < n * n; ++i) {
      const size_t row = t / width * step + i / n, column = t % width * step + i % n;
      pointers.push_back(x + (row * line + column) * channels);
    }
  }
  return [=] {
    WinogradInputArgs<T> args = {};
    args.channels = args.y_stride = channels;
    args.tile = static_cast<uint16_t>(tile);
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
  const size_t columns = s.at("columns"), n = s.at("size"), taps = s.at("taps");
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

// int8 tiles have 6 x 6 pixels, whatever the layer's are.
constexpr size_t kI8Tile = 4, kI8Size = 6, kI8Elements = kI8Size * kI8Size;

Pass I8InputPass(Kernel<WinogradInputArgs<int8_t>> kernel, const LayerSizes& s) {
  const size_t tiles = s.at("height") * s.at("width"), channels = s.at("channels");
  const int8_t* const x = Shared<int8_t>().x.Take((tiles + kI8Elements) * channels);
  int16_t* const y = Shared<int16_t>().y.Take(kI8Elements * channels);
  return [=] {
    const int8_t* a[kI8Elements];
    for (size_t t = 0; t < tiles; ++t) {
      for (size_t e = 0; e < kI8Elements; ++e) a[e] = x + (t + e) * channels;
      kernel({a, y, channels, channels});
    }
  };
}

Pass I8OutputPass(Kernel<WinogradOutputArgs<int8_t>> kernel, const LayerSizes& s) {
  const size_t tiles = s.at("height") * s.at("width"), channels = s.at("channels");
  const int32_t* const x = Shared<int32_t>().x.Take((tiles + kI8Elements) * channels);
  const int32_t* const bias = Shared<int32_t>().w.Take(channels);
  const float* const scale = Shared<float>().w.Take(channels);
  int8_t* const y = Shared<int8_t>().y.Take(kI8Tile * kI8Tile * channels);
  return [=] {
    for (size_t t = 0; t < tiles; ++t)
      kernel({x + t * channels, bias, scale, nullptr, y, channels, channels, kI8Tile, kI8Tile,
              kI8Tile * channels, channels, 0, INT8_MIN, INT8_MAX});
  };
}

// The GEMM of int8 tiles; its depth is a multiple of every kernel's step.
Pass I8ProductPass(Kernel<WinogradProductArgs<int8_t>> kernel, const LayerSizes& s) {
  constexpr size_t kStep = 4;
  const size_t rows = s.at("rows"), k = (s.at("taps") * s.at("k") + kStep - 1) / kStep * kStep;
  const size_t columns =
      (s.at("columns") + kMaxTileColumns - 1) / kMaxTileColumns * kMaxTileColumns;
  const int16_t* const a = Shared<int16_t>().x.Take(rows * k);
  const int16_t* const w = Shared<int16_t>().w.Take(columns * k);
  int32_t* const c = Shared<int32_t>().y.Take(rows * columns);
  return [=] { kernel({a, w, c, k, rows, columns, k, columns, 16, kStep}); };
}

const PassMaker kMakers[] = {
    {"WinogradInputArgs<int8_t>", MakePass<WinogradInputArgs<int8_t>, I8InputPass>},
    {"WinogradOutputArgs<int8_t>", MakePass<WinogradOutputArgs<int8_t>, I8OutputPass>},
    {"WinogradProductArgs<int8_t>", MakePass<WinogradProductArgs<int8_t>, I8ProductPass>},
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
