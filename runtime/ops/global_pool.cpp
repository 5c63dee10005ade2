#include "runtime/ops/global_pool.h"

#include "runtime/core/memory_plan.h"
#include "runtime/ops/window.h"

namespace trimtab {

template <typename T>
Status GlobalPool<T>::InferShape(const Tensor& x, Dims* y) {
  TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
  TRIMTAB_CHECK(x.h() > 0 && x.w() > 0, "the image is empty");
  *y = x.dims;
  (*y)[2] = (*y)[3] = 1;
  return Status();
}

template <typename T>
void GlobalPool<T>::PlanScratch(const Tensor& x, int threads) {
  const auto h = static_cast<uint64_t>(x.h()), w = static_cast<uint64_t>(x.w());
  const uint64_t partial_bytes = Aligned(h * static_cast<uint64_t>(x.c()) * sizeof(T));
  const uint64_t pointers_bytes = Aligned((h > w ? h : w) * sizeof(T*));
  partial_bytes_ = static_cast<size_t>(partial_bytes);
  pointers_bytes_ = static_cast<size_t>(pointers_bytes);
  scratch_bytes_ = partial_bytes + pointers_bytes * static_cast<uint64_t>(threads);
}

template <typename T>
void GlobalPool<T>::Run(const Tensor& x, float row_scale, float image_scale, void* scratch,
                        Tensor* y, ThreadPool& pool) const {
  const size_t h = x.h(), w = x.w(), channels = x.c();
  auto* const partial = static_cast<T*>(scratch);
  uint8_t* const all_pointers = static_cast<uint8_t*>(scratch) + partial_bytes_;
  for (size_t image = 0; image < static_cast<size_t>(x.n()); ++image) {
    const T* const pixels = x.data<T>() + image * h * w * x.pixel_stride();
    pool.For(h, w * channels, [&](size_t begin, size_t end, int thread) {
      auto* const a =
          reinterpret_cast<const T**>(all_pointers + static_cast<size_t>(thread) * pointers_bytes_);
      for (size_t row = begin; row < end; ++row) {
        for (size_t i = 0; i < w; ++i) a[i] = pixels + (row * w + i) * x.pixel_stride();
        kernel_({a, &row_scale, partial + row * channels, w, 1, 1, 1, channels, channels});
      }
    });
    auto* const a = reinterpret_cast<const T**>(all_pointers);
    for (size_t row = 0; row < h; ++row) a[row] = partial + row * channels;
    kernel_({a, &image_scale, y->data<T>() + image * y->pixel_stride(), h, 1, 1, 1, channels,
             channels});
  }
}

template class GlobalPool<float>;
template class GlobalPool<Half>;

}  // namespace trimtab
