// Pooling of whole images, shared by the maximum and the mean.
#ifndef TRIMTAB_OPS_GLOBAL_POOL_H_
#define TRIMTAB_OPS_GLOBAL_POOL_H_

#include "runtime/core/kernel_table.h"
#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"

namespace trimtab {

// Pools every row of an image in parallel, then the rows' results: reads memory in order, and adds
// in two levels, which rounds less than one long sum.
template <typename T>
class GlobalPool {
 public:
  static Status InferShape(const Tensor& x, Dims* y);
  // Binds the kernel of a family, given as its NameHash.
  template <uint32_t kFamily>
  Status Prepare(const KernelRef& ref, const Tensor& x, int threads) {
    PlanScratch(x, threads);
    return Bind<kFamily>(ref, &kernel_);
  }
  uint64_t scratch_bytes() const { return scratch_bytes_; }
  // Scales are factors of a row's and of an image's sum.
  void Run(const Tensor& x, float row_scale, float image_scale, void* scratch, Tensor* y,
           ThreadPool& pool) const;

 private:
  void PlanScratch(const Tensor& x, int threads);

  Kernel<PoolArgs<T>> kernel_ = nullptr;
  size_t partial_bytes_ = 0, pointers_bytes_ = 0;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_GLOBAL_POOL_H_
