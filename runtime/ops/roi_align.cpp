#include "generated/attributes/roi_align.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/element_index.h"

namespace trimtab {
namespace {

constexpr float kMaxSamples = 4096;  // per cell and direction: no file takes unbounded time

// The samples of a region along one dimension.
struct Samples {
  float begin;  // of the region
  float cell;   // size of a cell
  int count;    // samples per cell

  // Coordinate of a sample of a cell.
  float At(int32_t index, int sample) const {
    const float step = cell / static_cast<float>(count);
    return begin + static_cast<float>(index) * cell + (static_cast<float>(sample) + 0.5f) * step;
  }
};

// The two pixels around a coordinate, and their weights; none if it is outside.
struct Taps {
  int32_t low, high;
  float low_weight, high_weight;

  Taps(float at, int32_t size) {
    const bool inside = at >= -1.0f && at <= static_cast<float>(size);
    const float clamped = at > 0 ? at : 0;
    low = inside ? static_cast<int32_t>(clamped) : 0;
    const bool is_last = low >= size - 1;
    low = is_last ? size - 1 : low;
    high = is_last ? low : low + 1;
    high_weight = is_last || !inside ? 0 : clamped - static_cast<float>(low);
    low_weight = inside ? 1 - high_weight : 0;
  }
};

class RoiAlign final : public OperatorOf<RoiAlignAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    const auto channels = static_cast<size_t>(x.c());
    const auto cells = static_cast<size_t>(rows_) * static_cast<size_t>(columns_);
    pool.For(static_cast<size_t>(output().n()), cells * channels * 16,
             [&](size_t begin, size_t end, int) {
               for (size_t region = begin; region < end; ++region) Align(region, cells * channels);
             });
  }

 protected:
  Status InferShape() override {
    const Dims &x = input(0).dims, &regions = input(1).dims, &images = input(2).dims;
    const RoiAlignAttributes& a = attributes();
    TRIMTAB_CHECK(x.rank == 4, "x must be images (rank)", x.rank);
    TRIMTAB_CHECK(regions.rank == 2 && regions[1] == 4, "regions must be [k, 4] (rank)",
                  regions.rank);
    TRIMTAB_CHECK(images.rank == 1 && images[0] == regions[0],
                  "each region must have an image (regions)", regions[0]);
    TRIMTAB_CHECK(input(1).dtype == DType::kF32, "regions must be f32 (type)",
                  static_cast<int64_t>(input(1).dtype));
    TRIMTAB_CHECK(a.rows >= 1 && a.rows <= UINT16_MAX && a.columns >= 1 &&
                      a.columns <= UINT16_MAX && a.samples >= 0 && a.samples <= kMaxSamples,
                  "rows, columns or samples are out of range (rows, columns)", a.rows, a.columns);
    rows_ = static_cast<int32_t>(a.rows);
    columns_ = static_cast<int32_t>(a.columns);
    output().dims = {4, {regions[0], x[1], rows_, columns_}};
    return Status();
  }

 private:
  Samples SampleAxis(float begin, float end, int32_t cells) const {
    const RoiAlignAttributes& a = attributes();
    const float offset = a.half_pixel ? 0.5f : 0.0f, first = begin * a.scale - offset;
    float extent = end * a.scale - offset - first;
    if (!a.half_pixel && !(extent > 1)) extent = 1;
    const float cell = extent / static_cast<float>(cells), needed = ceilf(cell);
    const float count = needed < 1 ? 0 : needed < kMaxSamples ? needed : kMaxSamples;
    return {first, cell, a.samples > 0 ? static_cast<int>(a.samples) : static_cast<int>(count)};
  }

  void Align(size_t region, size_t elements) const {
    const Tensor& x = input(0);
    const float* const box = data<float>(1) + region * 4;
    const auto image = static_cast<size_t>(ElementIndex(input(2), region, x.n()));
    const size_t pixels = static_cast<size_t>(x.h()) * static_cast<size_t>(x.w());
    const float* const from = data<float>(0) + image * pixels * static_cast<size_t>(x.c());
    const Samples rows = SampleAxis(box[1], box[3], rows_),
                  columns = SampleAxis(box[0], box[2], columns_);
    float* to = result<float>() + region * elements;
    for (int32_t row = 0; row < rows_; ++row) {
      for (int32_t column = 0; column < columns_; ++column, to += x.c())
        Mean(from, rows, row, columns, column, to);
    }
  }

  void Mean(const float* image, const Samples& rows, int32_t row, const Samples& columns,
            int32_t column, float* to) const {
    const Tensor& x = input(0);
    const auto channels = static_cast<size_t>(x.c()), width = static_cast<size_t>(x.w());
    for (size_t i = 0; i < channels; ++i) to[i] = 0;
    const float share = 1.0f / static_cast<float>(rows.count * columns.count);
    for (int i = 0; i < rows.count; ++i) {
      const Taps v(rows.At(row, i), x.h());
      const float* const low = image + static_cast<size_t>(v.low) * width * channels;
      const float* const high = image + static_cast<size_t>(v.high) * width * channels;
      for (int j = 0; j < columns.count; ++j) {
        const Taps h(columns.At(column, j), x.w());
        const size_t left = static_cast<size_t>(h.low) * channels;
        const size_t right = static_cast<size_t>(h.high) * channels;
        const float a = v.low_weight * h.low_weight * share;
        const float b = v.low_weight * h.high_weight * share;
        const float c = v.high_weight * h.low_weight * share;
        const float d = v.high_weight * h.high_weight * share;
        for (size_t k = 0; k < channels; ++k)
          to[k] +=
              a * low[left + k] + b * low[right + k] + c * high[left + k] + d * high[right + k];
      }
    }
  }

  int32_t rows_ = 0;
  int32_t columns_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(RoiAlign)
