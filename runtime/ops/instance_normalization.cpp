#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

constexpr size_t kAtOnce = 16;  // channels in local arrays

class InstanceNormalization final : public OperatorOf<InstanceNormalizationAttributes> {
 public:
  Status InferShape() override;
  void Run(ThreadPool& pool) override;
};

Status InstanceNormalization::InferShape() {
  const Tensor& x = input(0);
  TRIMTAB_CHECK(x.dims.rank >= 3, "input must have channels and pixels", x.dims.rank);
  for (int i = 1; i <= 2; ++i) {
    TRIMTAB_CHECK(input(i).Count() == x.c(),
                  "a parameter does not fit the channels (input index, channels)", i, x.c());
  }
  output().dims = x.dims;
  return Status();
}

// Normalizes channels of one image: pixel p of channel i is at x[p * pixel_step + i]. Sums are
// double, because an image has many pixels.
void Normalize(const float* x, float* y, size_t channels, size_t pixels, size_t pixel_step,
               const float* scale, const float* bias, float epsilon) {
  double mean[kAtOnce] = {}, variance[kAtOnce] = {};
  for (size_t p = 0; p < pixels; ++p) {
    for (size_t i = 0; i < channels; ++i) mean[i] += x[p * pixel_step + i];
  }
  for (size_t i = 0; i < channels; ++i) mean[i] /= static_cast<double>(pixels);
  for (size_t p = 0; p < pixels; ++p) {
    for (size_t i = 0; i < channels; ++i) {
      const double distance = x[p * pixel_step + i] - mean[i];
      variance[i] += distance * distance;
    }
  }
  float factor[kAtOnce], offset[kAtOnce];
  for (size_t i = 0; i < channels; ++i) {
    const double deviation = __builtin_sqrt(variance[i] / static_cast<double>(pixels) + epsilon);
    factor[i] = static_cast<float>(scale[i] / deviation);
    offset[i] = static_cast<float>(bias[i] - mean[i] * scale[i] / deviation);
  }
  for (size_t p = 0; p < pixels; ++p) {
    for (size_t i = 0; i < channels; ++i)
      y[p * pixel_step + i] = x[p * pixel_step + i] * factor[i] + offset[i];
  }
}

void InstanceNormalization::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  const size_t channels = x.c(), images = x.dims[0];
  const size_t pixels = static_cast<size_t>(x.dims.Count(2, x.dims.rank));
  const bool nhwc = x.layout == Layout::kNhwc;
  const size_t block = nhwc ? kAtOnce : 1;
  const size_t blocks = DivideUp(channels, block), items = images * blocks;
  pool.For(items, 3 * block * pixels, [&](size_t begin, size_t end, int) {
    for (size_t item = begin; item < end; ++item) {
      const size_t channel = item % blocks * block;
      const size_t count = channels - channel < block ? channels - channel : block;
      const size_t place = item / blocks * channels * pixels + channel * (nhwc ? 1 : pixels);
      Normalize(x.data<float>() + place, output().data<float>() + place, count, pixels,
                nhwc ? channels : 1, input(1).data<float>() + channel,
                input(2).data<float>() + channel, attributes().epsilon);
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(InstanceNormalization)
