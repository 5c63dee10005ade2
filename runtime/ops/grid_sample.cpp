#include "generated/attributes/grid_sample.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

constexpr int kMaxTaps = 4;  // along one axis
// Places further away are moved here, where a float still tells pixels apart.
constexpr float kMaxCoordinate = 1 << 22;

using Mode = GridSampleMode;
using Padding = GridSamplePadding;

// The taps of one place along one axis; a weight of 0 stands for a pixel that is not read.
struct Taps {
  int count;
  int32_t at[kMaxTaps];
  float weight[kMaxTaps];
};

// One axis of `size` pixels.
struct Axis {
  int32_t size;
  Mode mode;
  Padding padding;
  bool align_corners;

  float low() const { return align_corners ? 0.0f : -0.5f; }
  float high() const { return low() + static_cast<float>(align_corners ? size - 1 : size); }

  // Folds a coordinate back at both ends.
  float Reflect(float x) const {
    const float range = high() - low();
    if (range <= 0) return 0.0f;
    float distance = x < low() ? low() - x : x - low();
    const float folds = floorf(distance / range);
    distance -= folds * range;
    return fmodf(folds, 2) == 0 ? low() + distance : high() - distance;
  }

  float Clamp(float x) const {
    const auto last = static_cast<float>(size - 1);
    return x > 0 ? (x < last ? x : last) : 0.0f;
  }

  // Adds the pixel at an integral coordinate.
  void Add(float x, float weight, Taps* taps) const {
    const bool outside = x < 0 || x > static_cast<float>(size - 1);
    if (outside && padding == Padding::kZeros) weight = 0;
    if (outside && padding == Padding::kReflection) x = Reflect(x);
    taps->at[taps->count] = static_cast<int32_t>(Clamp(x));
    taps->weight[taps->count++] = weight;
  }

  // The taps of a coordinate of the grid.
  Taps Find(float place) const {
    const auto extent = static_cast<float>(size);
    float x = align_corners ? (place + 1) / 2 * (extent - 1) : ((place + 1) * extent - 1) / 2;
    x = x > -kMaxCoordinate ? (x < kMaxCoordinate ? x : kMaxCoordinate)
                            : -kMaxCoordinate;  // NaN, too
    if (mode == Mode::kNearest) x = rintf(x);
    if (x < low() || x > high()) {
      // Cubic taps are moved to the border one by one, as in PyTorch.
      if (padding == Padding::kBorder && mode != Mode::kCubic) x = Clamp(x);
      if (padding == Padding::kReflection) x = Reflect(x);
    }
    Taps taps;
    taps.count = 0;
    const float first = floorf(x), t = x - first;
    switch (mode) {
      case Mode::kNearest:
        Add(truncf(x), 1, &taps);
        break;
      case Mode::kLinear:
        Add(first, 1 - t, &taps);
        Add(first + 1, t, &taps);
        break;
      case Mode::kCubic:
        Add(first - 1, Outer(1 + t), &taps);
        Add(first, Inner(t), &taps);
        Add(first + 1, Inner(1 - t), &taps);
        Add(first + 2, Outer(2 - t), &taps);
        break;
    }
    return taps;
  }

  // Keys' kernel for distances up to 1, and from 1 to 2.
  static float Inner(float d) { return ((kKeys + 2) * d - (kKeys + 3)) * d * d + 1; }
  static float Outer(float d) { return ((kKeys * d - 5 * kKeys) * d + 8 * kKeys) * d - 4 * kKeys; }
  static constexpr float kKeys = -0.75f;
};

class GridSample final : public OperatorOf<GridSampleAttributes> {
 public:
  Status InferShape() override;
  void Run(ThreadPool& pool) override;
};

Status GridSample::InferShape() {
  const Dims &x = input(0).dims, &grid = input(1).dims;
  TRIMTAB_CHECK(x.rank == 4 && grid.rank == 4, "input and grid must have four dimensions", x.rank,
                grid.rank);
  TRIMTAB_CHECK(grid[0] == x[0] && grid[3] == 2, "the grid does not fit the images (images, grids)",
                x[0], grid[0]);
  output().dims = x;
  output().dims[2] = grid[1];
  output().dims[3] = grid[2];
  return Status();
}

void GridSample::Run(ThreadPool& pool) {
  const Tensor &x = input(0), &y = output();
  const Axis across{x.w(), attributes().mode, attributes().padding, attributes().align_corners};
  Axis down = across;
  down.size = x.h();
  const auto channels = static_cast<size_t>(x.c()), rows = static_cast<size_t>(y.h());
  const auto columns = static_cast<size_t>(y.w()), width = static_cast<size_t>(x.w());
  const size_t plane = static_cast<size_t>(x.h()) * width;
  pool.For(static_cast<size_t>(x.n()) * rows, columns * channels * kMaxTaps,
           [&](size_t begin, size_t end, int) {
             for (size_t row = begin; row < end; ++row) {
               const float* place = data<float>(1) + row * columns * 2;
               const float* const image = data<float>(0) + row / rows * channels * plane;
               float* const line =
                   result<float>() + (row / rows * channels * rows + row % rows) * columns;
               for (size_t column = 0; column < columns; ++column, place += 2) {
                 const Taps h = across.Find(place[0]), v = down.Find(place[1]);
                 for (size_t channel = 0; channel < channels; ++channel) {
                   const float* const pixels = image + channel * plane;
                   float sum = 0;
                   for (int i = 0; i < v.count; ++i) {
                     if (v.weight[i] == 0) continue;
                     const float* const pixel_row = pixels + static_cast<size_t>(v.at[i]) * width;
                     for (int j = 0; j < h.count; ++j) {
                       if (h.weight[j] != 0) sum += v.weight[i] * h.weight[j] * pixel_row[h.at[j]];
                     }
                   }
                   line[channel * rows * columns + column] = sum;
                 }
               }
             }
           });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(GridSample)
