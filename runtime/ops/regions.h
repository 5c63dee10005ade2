// Bins of regions, with the rounding of Caffe's ROI layers.
#ifndef TRIMTAB_OPS_REGIONS_H_
#define TRIMTAB_OPS_REGIONS_H_

#include <math.h>
#include <stdint.h>

#include "runtime/core/operator.h"

namespace trimtab {

// Cells [begin, end) of bin `i` of a region whose bins are `bin` cells wide, at `start` after the
// cell `first`, clamped to [0, size). NaN and values beyond int are clamped to an end of the range.
struct Cells {
  Cells(float first, float start, float bin, int64_t i, int32_t size)
      : begin(Inside(floorf(static_cast<float>(i) * bin + start) + first, size)),
        end(Inside(ceilf(static_cast<float>(i + 1) * bin + start) + first, size)) {}

  int32_t begin, end;

 private:
  static int32_t Inside(float value, int32_t size) {
    if (!(value > 0.0f)) return 0;
    return value < static_cast<float>(size) ? static_cast<int32_t>(value) : size;
  }
};

// Index of a region's image, in [0, images).
inline int32_t ImageOf(const float* region, int32_t images) {
  return region[0] >= 1.0f && region[0] < static_cast<float>(images)
             ? static_cast<int32_t>(region[0])
             : 0;
}

// Base of operators that pool each region separately.
template <typename Attributes>
class RegionPool : public OperatorOf<Attributes> {
 public:
  void Run(ThreadPool& pool) final {
    const Dims& y = this->output().dims;
    const auto body = [this](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) PoolRegion(i);
    };
    pool.For(static_cast<size_t>(y[0]), static_cast<size_t>(y.Count(1, 4)) * 8, body);
  }

 private:
  // Pools a region [5] of the image at `from` to `to`.
  virtual void Pool(const float* region, const float* from, float* to) = 0;

  void PoolRegion(size_t index) {
    const Dims &x = this->input(0).dims, &y = this->output().dims;
    const float* const region = this->template data<float>(1) + index * 5;
    const auto image = static_cast<size_t>(ImageOf(region, x[0]));
    Pool(region, this->template data<float>(0) + image * static_cast<size_t>(x.Count(1, 4)),
         this->template result<float>() + index * static_cast<size_t>(y.Count(1, 4)));
  }
};

inline Status CheckRegions(const Tensor& x, const Tensor& regions) {
  TRIMTAB_CHECK(x.dims.rank == 4 && x.dims[0] >= 1, "features must be [n, c, h, w] (rank)",
                x.dims.rank);
  TRIMTAB_CHECK(regions.dims.rank == 2 && regions.dims[1] == 5, "regions must be [r, 5] (rank)",
                regions.dims.rank);
  return Status();
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_REGIONS_H_
