#include "runtime/ops/detector_head.h"

#include <string.h>

namespace trimtab {
namespace {

constexpr size_t kLanes = 16;  // a vector of int8 values, or a few of floats

// kLanes values that are compared at once, at any address of a T.
template <typename T>
struct Vector {
  typedef T Lanes __attribute__((vector_size(kLanes * sizeof(T)), aligned(sizeof(T)), may_alias));
};

// Whether any of `count` values exceeds the limit.
template <typename T>
bool AnyExceeds(const T* x, size_t count, T limit) {
  using Lanes = typename Vector<T>::Lanes;
  bool any = false;
  if (count < kLanes) {
    for (size_t i = 0; i < count; ++i) any |= x[i] > limit;
    return any;
  }
  Lanes best = limit - Lanes{};
  for (size_t i = 0; i < count; i += kLanes) {
    // The last step overlaps the one before.
    const T* const from = x + (i + kLanes <= count ? i : count - kLanes);
    const Lanes values = *reinterpret_cast<const Lanes*>(from);
    best = values > best ? values : best;
  }
  const auto exceeds = best > limit;
  uint64_t words[sizeof(exceeds) / sizeof(uint64_t)];
  memcpy(words, &exceeds, sizeof(words));
  for (uint64_t word : words) any |= word != 0;
  return any;
}

// The first of the largest values, `step` apart; 0 if all are `least` or NaN.
template <typename T>
size_t FirstLargest(const T* x, size_t step, size_t count, T least) {
  T largest = least;
  size_t first = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!(x[i * step] > largest)) continue;
    largest = x[i * step];
    first = i;
  }
  return first;
}

// `x`: the first value; those of a location are `location_step` apart, those of a channel
// `channel_step`.
template <typename T>
bool FilterScores(const T* x, size_t location_step, size_t channel_step, size_t count,
                  size_t classes, T limit, bool* passes) {
  bool any = false;
  if (channel_step == 1) {
    for (size_t i = 0; i < count; ++i) {
      passes[i] = AnyExceeds(x + i * location_step, classes, limit);
      any |= passes[i];
    }
    return any;
  }
  T best[HeadTensor::kMaxLocations];
  for (size_t i = 0; i < HeadTensor::kMaxLocations; ++i) best[i] = limit;
  for (size_t c = 0; c < classes; ++c) {
    const T* const row = x + c * channel_step;
    if (count == HeadTensor::kMaxLocations) {  // a constant, for which compilers use vectors
      for (size_t i = 0; i < HeadTensor::kMaxLocations; ++i)
        best[i] = row[i] > best[i] ? row[i] : best[i];
    } else {
      for (size_t i = 0; i < count; ++i) best[i] = row[i] > best[i] ? row[i] : best[i];
    }
  }
  for (size_t i = 0; i < count; ++i) {
    passes[i] = best[i] > limit;
    any |= passes[i];
  }
  return any;
}

}  // namespace

HeadTensor::HeadTensor(const Tensor& tensor, bool channels_first) {
  const Dims& d = tensor.dims;
  const Quantization* const q = tensor.quantization;
  if (d.rank != 3 && d.rank != 4) return;
  if (tensor.dtype == DType::kI8) {
    is_stored_ = true;
    if (q != nullptr && q->count == 1) {
      scale_ = q->scales()[0];
      zero_point_ = q->zero_points()[0];
    }
  } else if (tensor.dtype != DType::kF32) {
    return;
  }
  images = d[0];
  if (d.rank == 4) {
    channels = d[1];
    locations = d[2] * d[3];
    width = d[3];
  } else {
    channels = d[channels_first ? 1 : 2];
    locations = d[channels_first ? 2 : 1];
  }
  const auto c = static_cast<size_t>(channels), p = static_cast<size_t>(locations);
  const bool is_outer = d.rank == 3 && channels_first;
  image_step_ = c * p;
  location_step_ = is_outer ? 1 : c;
  channel_step_ = is_outer ? p : 1;
  tensor_ = &tensor;
}

void HeadTensor::Attach(float limit) {
  limit_ = limit;
  if (!is_stored_) return;
  int32_t stored = INT8_MAX;
  while (stored > INT8_MIN && Dequantized(stored) > limit) --stored;
  stored_limit_ = static_cast<int8_t>(stored);
  all_values_pass_ = Dequantized(stored) > limit;
}

bool HeadTensor::AnyAbove(int32_t image, size_t first, size_t count, size_t channel, size_t classes,
                          bool* passes) const {
  if (all_values_pass_) {
    for (size_t i = 0; i < count; ++i) passes[i] = true;
    return true;
  }
  const size_t i = Index(image, first, channel);
  if (!is_stored_) {
    return FilterScores(static_cast<const float*>(tensor_->raw) + i, location_step_, channel_step_,
                        count, classes, limit_, passes);
  }
  return FilterScores(static_cast<const int8_t*>(tensor_->raw) + i, location_step_, channel_step_,
                      count, classes, stored_limit_, passes);
}

float HeadTensor::SoftmaxScale(int32_t image, size_t location, size_t channel, size_t classes,
                               float* largest) const {
  *largest = -INFINITY;
  for (size_t c = 0; c < classes; ++c) *largest = fmaxf(*largest, At(image, location, channel + c));
  float sum = 0.0f;
  for (size_t c = 0; c < classes; ++c) sum += expf(At(image, location, channel + c) - *largest);
  return 1.0f / sum;
}

size_t HeadTensor::Best(int32_t image, size_t location, size_t channel, size_t classes) const {
  const size_t i = Index(image, location, channel);
  if (!is_stored_) {
    return FirstLargest(static_cast<const float*>(tensor_->raw) + i, channel_step_, classes,
                        -INFINITY);
  }
  return FirstLargest<int8_t>(static_cast<const int8_t*>(tensor_->raw) + i, channel_step_, classes,
                              INT8_MIN);
}

}  // namespace trimtab
