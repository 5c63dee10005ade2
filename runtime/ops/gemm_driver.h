// The framework around the GEMM micro-kernels: tiles, threads, pointers, epilogue. Convolution,
// transposed convolution and matrix product differ only in where the rows of A lie.
#ifndef TRIMTAB_OPS_GEMM_DRIVER_H_
#define TRIMTAB_OPS_GEMM_DRIVER_H_

#include "runtime/core/kernel_table.h"
#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"
#include "runtime/ops/epilogue.h"

namespace trimtab {

// Output rows of one line whose inputs are asked for, in tiles of mr rows.
template <typename T>
struct GemmTiles {
  size_t group, line, row;
  size_t rows;  // in: how many are asked for; out: all of these, or fewer of them in whole tiles
  size_t mr;
  const T** a;     // out: for every tile mr pointers per tap; rows past the last repeat one
  void* buffer;    // of the thread, as large as Bind was told
  size_t taps, k;  // out: their product is the job's depth
};

// One product: `groups` x `lines` x `line_rows` rows of `columns` outputs. The rows of a line lie
// `row_stride` apart in c, lines lie `line_stride` apart, and the columns of group g begin at
// g * columns. A residual has one line, whose rows lie `residual_stride` apart. Of quantized numbers
// the results are `reals` in place of c, where that is not null.
template <typename T>
struct GemmJob {
  void (*point)(const void* context, GemmTiles<T>* tiles);
  const void* context;
  const T* w;  // [group][panel][depth][nr]
  decltype(GemmArgs<T>::bias) bias;
  const T* residual;
  T* c;
  float* reals = nullptr;
  size_t groups, lines, line_rows, columns, depth;
  size_t row_stride, line_stride;
  size_t residual_stride = 0;
};

// `point` for rows of k columns that lie evenly: a matrix, or the pixels of an image under a 1x1
// window. The columns of group g begin at g * group_stride, the rows of line l at l * line_stride.
template <typename T>
struct EvenRows {
  const T* x;
  size_t stride, k, group_stride;
  size_t line_stride = 0;
};
template <typename T>
void PointAtEvenRows(const void* even_rows, GemmTiles<T>* tiles);

// What a plan says of a product: the attributes of shared/product.toml, and the kernel.
struct ProductPlan {
  template <typename Attributes>
  explicit ProductPlan(const Attributes& attributes)
      : kernel(attributes.kernel), panels(attributes.panels), call_tiles(attributes.call_tiles) {}

  KernelRef kernel;
  int64_t panels, call_tiles;
  uint32_t family = NameHash("gemm");
};

template <typename T>
class GemmDriver {
 public:
  // Binds the kernel and checks that packed weights and bias hold `groups` x `columns` x `depth`.
  // `taps` bounds the taps per tile. `zeros` is the length of the row that padding points at,
  // `buffer_bytes` what the job's `point` needs for itself, in each thread.
  Status Bind(const ProductPlan& plan, const Tensor& w, const Tensor* bias, int64_t groups,
              int64_t columns, int64_t depth, int64_t taps, int64_t zeros, int threads,
              int64_t buffer_bytes = 0);

  size_t mr() const { return mr_; }
  size_t panels(size_t columns) const { return (columns + nr_ - 1) / nr_; }
  size_t nr() const { return nr_; }
  uint64_t scratch_bytes() const { return scratch_bytes_; }

  // The row that padding points at, whose elements have all bytes alike, at the start of the
  // scratch memory; to be called once per run, before Run.
  const T* Zeros(void* scratch, int byte = 0) const;
  void Run(const GemmJob<T>& job, const Epilogue<T>& epilogue, void* scratch,
           ThreadPool& pool) const;

 private:
  Kernel<GemmArgs<T>> kernel_ = nullptr;
  size_t mr_ = 0, nr_ = 0;
  size_t panels_ = 1;      // at most, in a block of columns
  size_t call_tiles_ = 1;  // at most, in a call of the kernel
  size_t zeros_bytes_ = 0, pointers_bytes_ = 0, lent_bytes_ = 0, thread_bytes_ = 0;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_GEMM_DRIVER_H_
