#include "generated/plugin_attributes.h"
#include "ops/regions.h"

namespace trimtab {
namespace {

class RoiPooling final : public OverRegions<RoiPoolingAttributes> {
 protected:
  Status InferShape() override {
    TRIMTAB_RETURN_IF_ERROR(CheckRegions(input(0), input(1)));
    Dims& y = output().dims;
    y.rank = 4;
    y[0] = input(1).dims[0];
    y[1] = input(0).dims[1];
    y[2] = static_cast<int32_t>(attributes().height);
    y[3] = static_cast<int32_t>(attributes().width);
    return Status();
  }

 private:
  void Pool(size_t region_index) override {
    const Tensor& x = input(0);
    const float* region = data<float>(1) + region_index * 5;
    const float scale = attributes().scale;
    const float left = roundf(region[1] * scale), top = roundf(region[2] * scale);
    const float columns = fmaxf(roundf(region[3] * scale) - left + 1.0f, 1.0f);
    const float rows = fmaxf(roundf(region[4] * scale) - top + 1.0f, 1.0f);
    const float bin_h = rows / static_cast<float>(attributes().height);
    const float bin_w = columns / static_cast<float>(attributes().width);
    const int32_t image = ImageOf(region, x.dims[0]);
    const auto plane = static_cast<size_t>(x.dims.Count(2, 4));
    const float* from = data<float>(0) + static_cast<size_t>(image) * plane * x.dims[1];
    float* to = result<float>() + region_index * static_cast<size_t>(output().dims.Count(1, 4));
    for (int32_t c = 0; c < x.dims[1]; ++c, from += plane) {
      for (int64_t row = 0; row < attributes().height; ++row) {
        const Cells h(top, 0.0f, bin_h, row, x.dims[2]);
        for (int64_t column = 0; column < attributes().width; ++column) {
          *to++ = Largest(from, h, Cells(left, 0.0f, bin_w, column, x.dims[3]), x.dims[3]);
        }
      }
    }
  }

  static float Largest(const float* plane, Cells h, Cells w, int32_t width) {
    if (h.begin >= h.end || w.begin >= w.end) return 0.0f;
    float best = -INFINITY;
    for (int32_t y = h.begin; y < h.end; ++y) {
      for (int32_t x = w.begin; x < w.end; ++x) {
        best = fmaxf(best, plane[static_cast<size_t>(y) * static_cast<size_t>(width) + x]);
      }
    }
    return best;
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(RoiPooling)
