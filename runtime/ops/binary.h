// Element-wise operators of two operands with numpy broadcasting, in any layout.
#ifndef TRIMTAB_OPS_BINARY_H_
#define TRIMTAB_OPS_BINARY_H_

#include "runtime/core/attributes.h"
#include "runtime/core/operator.h"

namespace trimtab {

// The part that does not depend on the attributes, which are decoded to `attributes`.
template <typename T>
class BinaryLoops : public Operator {
 protected:
  explicit BinaryLoops(void* attributes) : Operator(attributes) {}

  Status InferShape() override;
  void Run(ThreadPool& pool) final;

  // Builds the loops over the operands; the caller binds the kernel.
  void PrepareLoops();
  // Called after results are written.
  virtual void Finish(const BinaryArgs<T>&) const {}

  Kernel<BinaryArgs<T>> kernel_ = nullptr;
  size_t max_elements_ = SIZE_MAX;  // maximum number of elements per kernel call

 private:
  struct Axis {
    size_t extent;
    size_t a, b, y;  // strides in elements; 0: the operand is broadcast
  };

  BinaryArgs<T> RowsAt(size_t row) const;

  // In memory order of the result; neighboring axes are merged where all operands allow it. The
  // kernel computes the last two.
  Axis axes_[Dims::kMaxRank + 1];
  int axis_count_ = 0;
};

// The common generated struct of these operators.
struct BinaryAttributes {
  KernelRef kernel;
};

// The class of all operators whose only attribute is a kernel. `family`: its FamilyHash.
template <typename T>
class BinaryOperator : public BinaryLoops<T> {
 public:
  explicit BinaryOperator(uint16_t family);

 protected:
  Status Prepare() override;

 private:
  BinaryAttributes attributes_;
  uint16_t family_;
};

}  // namespace trimtab

#define TRIMTAB_BINARY_OPERATOR_OF(Name, T, type, family)            \
  TRIMTAB_OPERATOR_OF(Name##type, DType::k##type, BinaryOperator<T>, \
                      FamilyHash<T>(NameHash(family)))

// `family`: name of the kernel family, a literal.
#define TRIMTAB_BINARY_OPERATOR(Name, family)                                           \
  static_assert(sizeof(trimtab::Name##Attributes) == sizeof(trimtab::BinaryAttributes), \
                "the attribute is a kernel");                                           \
  TRIMTAB_BINARY_OPERATOR_OF(Name, float, F32, family)                                  \
  TRIMTAB_BINARY_OPERATOR_OF(Name, Half, F16, family)

#endif  // TRIMTAB_OPS_BINARY_H_
