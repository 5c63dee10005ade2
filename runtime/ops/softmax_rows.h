// Operators that normalise along one axis: softmax and its logarithm.
#ifndef TRIMTAB_OPS_SOFTMAX_ROWS_H_
#define TRIMTAB_OPS_SOFTMAX_ROWS_H_

#include "runtime/core/operator.h"

namespace trimtab {

class SoftmaxRows : public Operator {
 protected:
  void Run(ThreadPool& pool) final;
  Status SetAxis(int64_t axis);

  Kernel<SoftmaxF32Args> kernel_ = nullptr;

 private:
  int axis_ = 0;
};

template <typename Attributes, uint16_t kFamily>
class SoftmaxOf : public SoftmaxRows {
 private:
  void* AttributeStorage() final { return &attributes_; }
  Status InferShape() final { return SetAxis(attributes_.axis); }
  Status Prepare() final { return Bind(attributes_.kernel, kFamily, &kernel_); }

  Attributes attributes_;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_SOFTMAX_ROWS_H_
