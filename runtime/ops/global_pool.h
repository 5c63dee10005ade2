// Pooling of whole images, shared by the maximum and the mean.
#ifndef TRIMTAB_OPS_GLOBAL_POOL_H_
#define TRIMTAB_OPS_GLOBAL_POOL_H_

#include "runtime/core/kernel_table.h"
#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"

namespace trimtab {

// Pools every row of an image in parallel, then the rows' results: reads memory in order, and adds
// in two levels, which rounds less than one long sum.
class GlobalPool {
 public:
  static Status InferShape(const Tensor& x, Dims* y);
  Status Prepare(const KernelRef& ref, uint16_t family, const Tensor& x, int threads);
  uint64_t scratch_bytes() const { return scratch_bytes_; }
  // Scales are factors of a row's and of an image's sum.
  void Run(const Tensor& x, float row_scale, float image_scale, void* scratch, Tensor* y,
           ThreadPool& pool) const;

 private:
  Kernel<PoolF32Args> kernel_ = nullptr;
  size_t partial_bytes_ = 0, pointers_bytes_ = 0;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_GLOBAL_POOL_H_
