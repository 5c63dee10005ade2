#include "generated/attributes/roi_pooling.h"

#include "runtime/ops/regions.h"

namespace trimtab {
namespace {

class RoiPooling final : public RegionPool<RoiPoolingAttributes> {
 protected:
  Status InferShape() override {
    TRIMTAB_RETURN_IF_ERROR(CheckRegions(input(0), input(1)));
    const int64_t rows = attributes().pooled_shape[0], columns = attributes().pooled_shape[1];
    TRIMTAB_CHECK(rows >= 1 && rows <= UINT16_MAX && columns >= 1 && columns <= UINT16_MAX,
                  "the pooled shape is out of range (rows, columns)", rows, columns);
    rows_ = static_cast<int32_t>(rows);
    columns_ = static_cast<int32_t>(columns);
    output().dims = {4, {input(1).dims[0], input(0).dims[1], rows_, columns_}};
    return Status();
  }

 private:
  void Pool(const float* region, const float* from, float* to) override {
    const Tensor& x = input(0);
    const float scale = attributes().spatial_scale;
    const float left = roundf(region[1] * scale), top = roundf(region[2] * scale);
    const float columns = fmaxf(roundf(region[3] * scale) - left + 1.0f, 1.0f);
    const float rows = fmaxf(roundf(region[4] * scale) - top + 1.0f, 1.0f);
    const float bin_h = rows / static_cast<float>(rows_);
    const float bin_w = columns / static_cast<float>(columns_);
    for (int32_t row = 0; row < rows_; ++row) {
      const Cells h(top, 0.0f, bin_h, row, x.h());
      for (int32_t column = 0; column < columns_; ++column, to += x.c())
        Largest(from, h, Cells(left, 0.0f, bin_w, column, x.w()), to);
    }
  }

  // The maximum of each channel in a bin.
  void Largest(const float* image, Cells h, Cells w, float* to) const {
    const auto channels = static_cast<size_t>(input(0).c());
    const auto width = static_cast<size_t>(input(0).w());
    const bool empty = h.begin >= h.end || w.begin >= w.end;
    for (size_t i = 0; i < channels; ++i) to[i] = empty ? 0.0f : -INFINITY;
    for (int32_t y = h.begin; y < h.end; ++y) {
      for (int32_t x = w.begin; x < w.end; ++x) {
        const size_t pixel = static_cast<size_t>(y) * width + static_cast<size_t>(x);
        const float* from = image + pixel * channels;
        for (size_t i = 0; i < channels; ++i) to[i] = from[i] > to[i] ? from[i] : to[i];
      }
    }
  }

  int32_t rows_ = 0;
  int32_t columns_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(RoiPooling)
