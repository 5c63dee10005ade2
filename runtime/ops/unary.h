// Element-wise operators of one operand: an operator is the kernel family of its name.
#ifndef TRIMTAB_OPS_UNARY_H_
#define TRIMTAB_OPS_UNARY_H_

#include <stddef.h>

#include "runtime/core/attributes.h"
#include "runtime/core/operator.h"

namespace trimtab {

// The first members of the generated structs of all these operators; an operator without an
// attribute keeps its default.
struct UnaryAttributes {
  KernelRef kernel;
  float alpha = 0, beta = 0;
};

// The class of all these operators. `family`: FamilyHash of the kernels; `beta`: value for
// operators without that attribute.
template <typename T>
class UnaryOperator final : public OperatorOf<UnaryAttributes> {
 public:
  explicit UnaryOperator(uint16_t family, float beta = 0);

 private:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

  uint16_t family_;
  Kernel<UnaryArgs<T>> kernel_ = nullptr;
};

}  // namespace trimtab

#define TRIMTAB_UNARY_OPERATOR_OF(Name, T, type, family, ...)       \
  TRIMTAB_OPERATOR_OF(Name##type, DType::k##type, UnaryOperator<T>, \
                      FamilyHash<T>(NameHash(family)), ##__VA_ARGS__)

// `family`: name of the kernel family, a literal; then `beta`.
#define TRIMTAB_UNARY_OPERATOR(Name, family, ...)                                          \
  static_assert(offsetof(trimtab::Name##Attributes, kernel) == 0 &&                        \
                    sizeof(trimtab::Name##Attributes) <= sizeof(trimtab::UnaryAttributes), \
                "the attributes are a kernel, alpha and beta");                            \
  TRIMTAB_UNARY_OPERATOR_OF(Name, float, F32, family, ##__VA_ARGS__)                       \
  TRIMTAB_UNARY_OPERATOR_OF(Name, Half, F16, family, ##__VA_ARGS__)

#endif  // TRIMTAB_OPS_UNARY_H_
