#include "generated/attributes/instance_normalization.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

constexpr size_t kAtOnce = 16;  // channels in local arrays

template <typename T>
class InstanceNormalization final : public OperatorOf<InstanceNormalizationAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override {
    return Bind<NameHash("normalize")>(attributes().kernel, &normalize_);
  }
  void Run(ThreadPool& pool) override;

 private:
  Kernel<NormalizeArgs<T>> normalize_ = nullptr;
};

template <typename T>
Status InstanceNormalization<T>::InferShape() {
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
template <typename T>
void NormalizeChannels(const T* x, T* y, size_t channels, size_t pixels, size_t pixel_step,
                       const T* scale, const T* bias, float epsilon) {
  double mean[kAtOnce] = {}, variance[kAtOnce] = {};
  for (size_t p = 0; p < pixels; ++p) {
    for (size_t i = 0; i < channels; ++i) mean[i] += static_cast<float>(x[p * pixel_step + i]);
  }
  for (size_t i = 0; i < channels; ++i) mean[i] /= static_cast<double>(pixels);
  for (size_t p = 0; p < pixels; ++p) {
    for (size_t i = 0; i < channels; ++i) {
      const double distance = static_cast<float>(x[p * pixel_step + i]) - mean[i];
      variance[i] += distance * distance;
    }
  }
  float factor[kAtOnce], offset[kAtOnce];
  for (size_t i = 0; i < channels; ++i) {
    const double deviation = __builtin_sqrt(variance[i] / static_cast<double>(pixels) + epsilon);
    factor[i] = static_cast<float>(static_cast<float>(scale[i]) / deviation);
    offset[i] = static_cast<float>(static_cast<float>(bias[i]) - mean[i] * factor[i]);
  }
  for (size_t p = 0; p < pixels; ++p) {
    for (size_t i = 0; i < channels; ++i)
      y[p * pixel_step + i] = x[p * pixel_step + i] * factor[i] + offset[i];
  }
}

template <typename T>
void InstanceNormalization<T>::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  const auto channels = static_cast<size_t>(x.c()), images = static_cast<size_t>(x.dims[0]);
  const auto pixels = static_cast<size_t>(x.dims.Count(2, x.dims.rank));
  const float epsilon = attributes().epsilon;
  const bool nhwc = x.layout == Layout::kNhwc;
  const size_t block = nhwc ? kAtOnce : 1;
  const size_t blocks = DivideUp(channels, block);
  pool.For(images * blocks, 3 * block * pixels, [&](size_t begin, size_t end, int) {
    for (size_t item = begin; item < end; ++item) {
      const size_t channel = item % blocks * block;
      const size_t place = item / blocks * channels * pixels + channel * (nhwc ? 1 : pixels);
      const T *const from = data<T>(0) + place, *const scale = data<T>(1) + channel,
                     *const bias = data<T>(2) + channel;
      T* const to = result<T>() + place;
      if (nhwc) {
        const size_t count = Min(channels - channel, block);
        NormalizeChannels(from, to, count, pixels, channels, scale, bias, epsilon);
      } else {
        normalize_({from, scale, bias, to, pixels, epsilon, 0});
      }
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(InstanceNormalization, float, F32)
TRIMTAB_TYPED_OPERATOR(InstanceNormalization, Half, F16)
