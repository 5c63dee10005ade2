// Operators that normalise along one axis: softmax and its logarithm.
#ifndef TRIMTAB_OPS_SOFTMAX_ROWS_H_
#define TRIMTAB_OPS_SOFTMAX_ROWS_H_

#include "runtime/core/operator.h"

namespace trimtab {

template <typename T>
class SoftmaxRows : public Operator {
 protected:
  void Run(ThreadPool& pool) final;
  Status SetAxis(int64_t axis);

  Kernel<SoftmaxArgs<T>> kernel_ = nullptr;

 private:
  int axis_ = 0;
};

// `kFamily`: NameHash.
template <typename T, typename Attributes, uint32_t kFamily>
class SoftmaxOf : public SoftmaxRows<T> {
 private:
  void* AttributeStorage() final { return &attributes_; }
  Status InferShape() final { return this->SetAxis(attributes_.axis); }
  Status Prepare() final { return Bind<kFamily>(attributes_.kernel, &this->kernel_); }

  Attributes attributes_;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_SOFTMAX_ROWS_H_
