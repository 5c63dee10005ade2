// Reads the tensors of a detector's head: f32 values, or int8 values with one scale.
#ifndef TRIMTAB_OPS_DETECTOR_HEAD_H_
#define TRIMTAB_OPS_DETECTOR_HEAD_H_

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/core/tensor.h"

namespace trimtab {

inline float Sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// The number whose sigmoid is `p`; infinite for those that no sigmoid is below or above.
inline float Logit(float p) {
  if (p <= 0.0f) return -INFINITY;
  return p >= 1.0f ? INFINITY : logf(p / (1.0f - p));
}

// A head as images, locations and channels: [n, c, h, w] in NHWC, [n, locations, c], or
// [n, c, locations].
class HeadTensor {
 public:
  HeadTensor() = default;
  HeadTensor(const Tensor& tensor, bool channels_first);

  int32_t images = 0;
  int32_t locations = 0;
  int32_t channels = 0;
  int32_t width = 0;  // of the grid of locations; 0: there is none

  bool is_valid() const { return tensor_ != nullptr; }
  // Whether it is f32, or i8 with one scale, which shape inference does not know.
  bool has_scale() const { return !is_stored_ || scale_ > 0.0f; }
  // The first channel of an anchor.
  size_t Block(size_t anchor, size_t per_place) const {
    return anchor * (static_cast<size_t>(channels) / per_place);
  }

  // Before each run: AnyAbove compares with `limit`.
  void Attach(float limit);
  float At(int32_t image, size_t location, size_t channel) const {
    const size_t i = Index(image, location, channel);
    if (!is_stored_) return static_cast<const float*>(tensor_->raw)[i];
    return Dequantized(static_cast<const int8_t*>(tensor_->raw)[i]);
  }
  // Sets passes[i] if any of `classes` channels of location first + i exceeds the limit; returns
  // whether any location does. count <= kMaxLocations.
  bool AnyAbove(int32_t image, size_t first, size_t count, size_t channel, size_t classes,
                bool* passes) const;
  static constexpr size_t kMaxLocations = 64;
  // The factor that makes an exponential function of a class, relative to the largest, its softmax.
  float SoftmaxScale(int32_t image, size_t location, size_t channel, size_t classes,
                     float* largest) const;
  // The class with the largest value; the first of equal ones.
  size_t Best(int32_t image, size_t location, size_t channel, size_t classes) const;

 private:
  size_t Index(int32_t image, size_t location, size_t channel) const {
    return static_cast<size_t>(image) * image_step_ + location * location_step_ +
           channel * channel_step_;
  }
  float Dequantized(int32_t stored) const {
    return scale_ * static_cast<float>(stored - zero_point_);
  }

  const Tensor* tensor_ = nullptr;
  size_t image_step_ = 0, location_step_ = 0, channel_step_ = 0;
  bool is_stored_ = false;  // i8
  float scale_ = 0.0f;
  int32_t zero_point_ = 0;
  float limit_ = 0.0f;
  int8_t stored_limit_ = 0;       // int8 values above it exceed the limit
  bool all_values_pass_ = false;  // int8: the least one, too
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_DETECTOR_HEAD_H_
