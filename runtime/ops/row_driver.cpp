#include "runtime/ops/row_driver.h"

#include "runtime/ops/parallel.h"

namespace trimtab {
namespace {

// Pointers per thread: few enough for the first-level cache, unless one window alone has more.
constexpr int64_t kPointers = 2048;

constexpr int64_t RoundUp(int64_t value) { return (value + 63) & ~int64_t{63}; }

}  // namespace

Status RowDriver::Prepare(const Window& window, int32_t out_w, int32_t channels, int threads) {
  int64_t pixels = kPointers / window.taps();
  if (pixels > static_cast<int64_t>(kMaxPixels)) pixels = kMaxPixels;
  if (pixels > out_w) pixels = out_w;
  if (pixels < 1) pixels = 1;
  const int64_t padding_bytes = RoundUp(int64_t{channels} * sizeof(float));
  const int64_t pointers_bytes =
      RoundUp(pixels * window.taps() * static_cast<int64_t>(sizeof(float*)));
  const int64_t bytes = padding_bytes + pointers_bytes * threads;
  TRIMTAB_CHECK(bytes <= INT32_MAX, "scratch memory is too large", bytes);
  pixels_ = static_cast<size_t>(pixels);
  padding_bytes_ = static_cast<size_t>(padding_bytes);
  pointers_bytes_ = static_cast<size_t>(pointers_bytes);
  scratch_bytes_ = static_cast<size_t>(bytes);
  return Status();
}

const float* RowDriver::Padding(void* scratch, size_t channels, float value) const {
  auto* const row = static_cast<float*>(scratch);
  for (size_t i = 0; i < channels; ++i) row[i] = value;
  return row;
}

void RowDriver::Run(const WindowSource& source, size_t images, void* scratch, ThreadPool& pool,
                    Body body, const void* context) const {
  const size_t rows = images * source.out_h, out_w = source.out_w;
  const size_t cost = out_w * source.pixel_stride * source.window.taps();
  pool.For(rows, Grain(rows, cost, pool.threads()), [&](size_t begin, size_t end, int thread) {
    auto* const a =
        reinterpret_cast<const float**>(static_cast<uint8_t*>(scratch) + padding_bytes_ +
                                        static_cast<size_t>(thread) * pointers_bytes_);
    for (size_t row = begin; row < end; ++row) {
      for (size_t x = 0; x < out_w; x += pixels_) {
        const size_t pixels = out_w - x < pixels_ ? out_w - x : pixels_;
        const size_t step = PointAtRow(source, row, x, pixels, a);
        body(context, {a, step, row, x, pixels});
      }
    }
  });
}

}  // namespace trimtab
