#include "generated/attributes/psroi_pooling.h"

#include "runtime/ops/regions.h"

namespace trimtab {
namespace {

class PsroiPooling final : public RegionPool<PsroiPoolingAttributes> {
 protected:
  Status InferShape() override {
    TRIMTAB_RETURN_IF_ERROR(CheckRegions(input(0), input(1)));
    const int64_t bins = attributes().bins;
    TRIMTAB_CHECK(bins >= 1 && bins <= UINT8_MAX, "bins are out of range", bins);
    TRIMTAB_CHECK(input(0).dims[1] % (bins * bins) == 0, "the bins do not divide the channels",
                  bins, input(0).dims[1]);
    Dims& y = output().dims;
    y.rank = 4;
    y[0] = input(1).dims[0];
    y[1] = static_cast<int32_t>(input(0).dims[1] / (bins * bins));
    y[2] = y[3] = static_cast<int32_t>(bins);
    return Status();
  }

 private:
  void Pool(const float* region, const float* from, float* to) override {
    const Tensor& x = input(0);
    const float scale = attributes().spatial_scale;
    const float left = roundf(region[1]) * scale, top = roundf(region[2]) * scale;
    const float columns = fmaxf((roundf(region[3]) + 1.0f) * scale - left, 0.1f);
    const float rows = fmaxf((roundf(region[4]) + 1.0f) * scale - top, 0.1f);
    const int64_t bins = attributes().bins;
    const float bin_h = rows / static_cast<float>(bins), bin_w = columns / static_cast<float>(bins);
    const auto plane = static_cast<size_t>(x.dims.Count(2, 4));
    for (int32_t k = 0; k < output().dims[1]; ++k) {
      for (int64_t row = 0; row < bins; ++row) {
        const Cells h(0.0f, top, bin_h, row, x.dims[2]);
        for (int64_t column = 0; column < bins; ++column, from += plane) {
          *to++ = Mean(from, h, Cells(0.0f, left, bin_w, column, x.dims[3]), x.dims[3]);
        }
      }
    }
  }

  static float Mean(const float* plane, Cells h, Cells w, int32_t width) {
    if (h.begin >= h.end || w.begin >= w.end) return 0.0f;
    float sum = 0.0f;
    for (int32_t y = h.begin; y < h.end; ++y) {
      for (int32_t x = w.begin; x < w.end; ++x) {
        sum += plane[static_cast<size_t>(y) * static_cast<size_t>(width) + x];
      }
    }
    return sum / (static_cast<float>(h.end - h.begin) * static_cast<float>(w.end - w.begin));
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(PsroiPooling)
