// The driver of the depthwise and pooling micro-kernels: output rows in parallel, pointers to the
// taps of neighboring pixels.
#ifndef TRIMTAB_OPS_ROW_DRIVER_H_
#define TRIMTAB_OPS_ROW_DRIVER_H_

#include "runtime/core/status.h"
#include "runtime/core/thread_pool.h"
#include "runtime/ops/window.h"

namespace trimtab {

// Neighboring pixels of one or more output rows of an image: tap (i, j) of pixel p in row r is at
// a[(p * step_w + j) * column + r * stride_h + i].
template <typename T>
struct RowPiece {
  const T* const* a;
  size_t column, step_w;
  size_t row, rows;  // counted over all images
  size_t x, pixels;
};

template <typename T>
class RowDriver {
 public:
  static constexpr int64_t kMaxPixels = 64;

  // `rows`, `pixels`: preferred size of a piece, from the plan. A piece has several rows only if
  // the window shares rows: fewer than twice `rows` if the image is low, and fewer than `rows` if
  // threads would be idle. It has at most `pixels` pixels and at most kMaxPixels.
  Status Prepare(const Window& window, int32_t out_w, int32_t channels, int64_t rows,
                 int64_t pixels, int threads);
  uint64_t scratch_bytes() const { return scratch_bytes_; }

  // Fills the padding row with `value`; call once per run, before Run.
  const T* Padding(void* scratch, size_t channels, T value) const;

  // Calls body(piece) for all output rows of `images` images, in parallel.
  template <typename F>
  void Run(const WindowSource<T>& source, size_t images, void* scratch, ThreadPool& pool,
           const F& body) const {
    Run(
        source, images, scratch, pool,
        [](const void* context, const RowPiece<T>& piece) {
          (*static_cast<const F*>(context))(piece);
        },
        &body);
  }

 private:
  using Body = void (*)(const void* context, const RowPiece<T>& piece);
  void Run(const WindowSource<T>& source, size_t images, void* scratch, ThreadPool& pool, Body body,
           const void* context) const;

  size_t rows_ = 1;    // rows per piece
  size_t pixels_ = 1;  // maximum number of pixels per piece
  size_t padding_bytes_ = 0, pointers_bytes_ = 0;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_ROW_DRIVER_H_
