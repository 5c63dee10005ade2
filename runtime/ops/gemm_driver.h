// The driver of the GEMM micro-kernels: tiles, threads, pointers, epilogue. Convolution, transposed
// convolution and matrix multiplication differ only in the addresses of A's rows.
#ifndef TRIMTAB_OPS_GEMM_DRIVER_H_
#define TRIMTAB_OPS_GEMM_DRIVER_H_

#include "runtime/core/kernel_table.h"
#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"
#include "runtime/ops/epilogue.h"

namespace trimtab {

// A request for the rows of A of one line, in tiles of mr rows.
template <typename T>
struct GemmTiles {
  size_t group, line, row;
  size_t rows;  // in: requested; out: all of these, or fewer, in whole tiles
  size_t mr;
  const T** a;     // out: mr pointers per tile and tap; rows past the last repeat a valid one.
                   // With kSkipsTaps it may be advanced past the first taps, and taps may be fewer
  void* buffer;    // the thread's buffer of Bind's `buffer_bytes`
  size_t taps, k;  // out: taps * k is the job's depth
};

// One GEMM: `groups` x `lines` x `line_rows` rows of `columns` outputs. In c, the rows of a line
// are `row_stride` elements apart, lines are `line_stride` apart, and the columns of group g begin
// at g * columns. A residual has one line, whose rows are `residual_stride` apart. int8 GEMMs write
// float32 results to `dequantized` instead of c if it is not null.
template <typename T>
struct GemmJob {
  void (*point)(const void* context, GemmTiles<T>* tiles);
  const void* context;
  const T* w;  // [group][panel][depth][nr]
  decltype(GemmArgs<T>::bias) bias;
  const T* residual;
  T* c;
  float* dequantized = nullptr;
  size_t groups, lines, line_rows, columns, depth;
  size_t row_stride, line_stride;
  size_t residual_stride = 0;
};

// Context of PointAtStridedRows: evenly spaced rows of k columns, as of a matrix, or the pixels of an
// image under a 1x1 window. The columns of group g begin at g * group_stride, the rows of line l at
// l * line_stride.
template <typename T>
struct StridedRows {
  const T* x;
  size_t stride, k, group_stride;
  size_t line_stride = 0;
};
template <typename T>
void PointAtStridedRows(const void* strided_rows, GemmTiles<T>* tiles);

// The plan of a GEMM: the attributes of shared/product.toml, and the kernel.
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
  // `taps`: maximum number of taps per tile; `zeros`: length of the padding row; `buffer_bytes`:
  // size of the buffer per thread for the job's `point`.
  Status Bind(const ProductPlan& plan, const Tensor& w, const Tensor* bias, int64_t groups,
              int64_t columns, int64_t depth, int64_t taps, int64_t zeros, int threads,
              int64_t buffer_bytes = 0);

  size_t mr() const { return mr_; }
  size_t panels(size_t columns) const { return (columns + nr_ - 1) / nr_; }
  size_t nr() const { return nr_; }
  uint64_t scratch_bytes() const { return scratch_bytes_; }

  // Fills the padding row, at the start of the scratch memory, with `byte`; call once per run,
  // before Run.
  const T* Zeros(void* scratch, int byte = 0) const;
  // `kSkipsTaps`: each tile has a range of the taps of its own; requires a plan of one panel.
  template <bool kSkipsTaps = false>
  void Run(const GemmJob<T>& job, const Epilogue<T>& epilogue, void* scratch,
           ThreadPool& pool) const;

 private:
  Kernel<GemmArgs<T>> kernel_ = nullptr;
  size_t mr_ = 0, nr_ = 0;
  size_t panels_ = 1;      // maximum number of panels per column block
  size_t call_tiles_ = 1;  // maximum number of tiles per kernel call
  size_t zeros_bytes_ = 0, pointers_bytes_ = 0, kernel_scratch_bytes_ = 0, thread_bytes_ = 0;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_GEMM_DRIVER_H_
