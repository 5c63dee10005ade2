#include "runtime/ops/row_driver.h"

#include "runtime/core/memory_plan.h"
#include "runtime/core/parallel.h"

namespace trimtab {

template <typename T>
Status RowDriver<T>::Prepare(const Window& window, int32_t out_w, int32_t channels, int64_t rows,
                             int64_t pixels, int threads) {
  rows_ = window.shares_rows() ? static_cast<size_t>(rows) : 1;
  const TapColumns columns(window, static_cast<int32_t>(2 * rows_ - 1));
  if (pixels > kMaxPixels) pixels = kMaxPixels;
  if (pixels > out_w) pixels = out_w;
  const uint64_t padding_bytes = Aligned(static_cast<uint64_t>(channels) * sizeof(T));
  const uint64_t pointers_bytes =
      Aligned(static_cast<uint64_t>(columns.Count(window, pixels)) * sizeof(T*));
  pixels_ = static_cast<size_t>(pixels);
  padding_bytes_ = static_cast<size_t>(padding_bytes);
  pointers_bytes_ = static_cast<size_t>(pointers_bytes);
  scratch_bytes_ = padding_bytes + pointers_bytes * static_cast<uint64_t>(threads);
  return Status();
}

template <typename T>
const T* RowDriver<T>::Padding(void* scratch, size_t channels, T value) const {
  auto* const row = static_cast<T*>(scratch);
  for (size_t i = 0; i < channels; ++i) row[i] = value;
  return row;
}

template <typename T>
void RowDriver<T>::Run(const WindowSource<T>& source, size_t images, void* scratch,
                       ThreadPool& pool, Body body, const void* context) const {
  const size_t out_h = source.out_h, out_w = source.out_w;
  const auto threads = static_cast<size_t>(pool.threads());
  // Groups of rows of equal size; smaller groups if that keeps all threads busy.
  size_t groups = out_h < rows_ ? 1 : out_h / rows_;
  const size_t part = DivideUp(images * groups, threads) * DivideUp(out_h, groups);
  if (!FillsThreads(part, threads, images * out_h)) groups = Min(RoundUp(groups, threads), out_h);
  const size_t height = out_h / groups,
               higher = out_h - height * groups;  // groups with one more row
  const size_t cost = height * out_w * source.pixel_stride * source.window.taps();
  const size_t count = images * groups;
  pool.For(count, cost, [&](size_t begin, size_t end, int thread) {
    auto* const a = reinterpret_cast<const T**>(static_cast<uint8_t*>(scratch) + padding_bytes_ +
                                                static_cast<size_t>(thread) * pointers_bytes_);
    for (size_t i = begin; i < end; ++i) {
      const size_t image = i / groups, group = i - image * groups;
      const size_t row = image * out_h + group * height + Min(group, higher);
      const size_t rows = height + (group < higher ? 1 : 0);
      const TapColumns columns(source.window, static_cast<int32_t>(rows));
      for (size_t x = 0; x < out_w; x += pixels_) {
        const size_t pixels = out_w - x < pixels_ ? out_w - x : pixels_;
        PointAtRows(source, columns, row, x, pixels, a);
        body(context, {a, static_cast<size_t>(columns.column), static_cast<size_t>(columns.step_w),
                       row, rows, x, pixels});
      }
    }
  });
}

template class RowDriver<float>;
template class RowDriver<Half>;
template class RowDriver<int8_t>;

}  // namespace trimtab
