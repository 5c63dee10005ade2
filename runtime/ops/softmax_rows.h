// Operators that normalize along one axis: softmax and log_softmax.
#ifndef TRIMTAB_OPS_SOFTMAX_ROWS_H_
#define TRIMTAB_OPS_SOFTMAX_ROWS_H_

#include "generated/attributes/softmax.h"
#include "runtime/core/operator.h"

namespace trimtab {

// `family`: FamilyHash of the kernels.
template <typename T>
class SoftmaxRows final : public OperatorOf<SoftmaxAttributes> {
 public:
  explicit SoftmaxRows(uint16_t family);

 private:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

  uint16_t family_;
  int axis_ = 0;
  uint64_t row_bytes_ = 0;  // of a thread's copy of a row whose elements are not adjacent
  Kernel<SoftmaxArgs<T>> kernel_ = nullptr;
};

}  // namespace trimtab

#define TRIMTAB_SOFTMAX_OPERATOR_OF(Name, T, type, family) \
  TRIMTAB_OPERATOR_OF(Name##type, DType::k##type, SoftmaxRows<T>, FamilyHash<T>(NameHash(family)))

// `family`: name of the kernel family, a literal.
#define TRIMTAB_SOFTMAX_OPERATOR(Name, family)                                           \
  static_assert(sizeof(trimtab::Name##Attributes) == sizeof(trimtab::SoftmaxAttributes), \
                "the attributes are an axis and a kernel");                              \
  TRIMTAB_SOFTMAX_OPERATOR_OF(Name, float, F32, family)                                  \
  TRIMTAB_SOFTMAX_OPERATOR_OF(Name, Half, F16, family)

#endif  // TRIMTAB_OPS_SOFTMAX_ROWS_H_
