// Element-wise operators of two operands with numpy broadcasting, in any layout.
#ifndef TRIMTAB_OPS_BINARY_H_
#define TRIMTAB_OPS_BINARY_H_

#include "runtime/core/operator.h"

namespace trimtab {

// What does not depend on the attributes' type, so that it is compiled once.
template <typename T>
class BinaryOperator : public Operator {
 protected:
  Status InferShape() override;
  void Run(ThreadPool& pool) final;

  // Finds the loops over the operands; the kernel is to be bound beside it.
  void PrepareLoops();
  // Called for results that were just written.
  virtual void Finish(const BinaryArgs<T>&) const {}

  Kernel<BinaryArgs<T>> kernel_ = nullptr;
  size_t most_ = SIZE_MAX;  // elements in a call of the kernel

 private:
  struct Axis {
    size_t extent;
    size_t a, b, y;  // strides in elements, 0 where an operand is broadcast
  };

  BinaryArgs<T> RowsAt(size_t row) const;

  // In memory order of the result, neighbours joined where all operands allow it. The last two are
  // the kernel's.
  Axis axes_[Dims::kMaxRank + 1];
  int axis_count_ = 0;
};

// `kFamily`: NameHash.
template <typename T, typename Attributes, uint32_t kFamily>
class Binary : public BinaryOperator<T> {
 protected:
  Status Prepare() override {
    this->PrepareLoops();
    return Bind<kFamily>(attributes_.kernel, &this->kernel_);
  }

  Attributes attributes_;

 private:
  void* AttributeStorage() final { return &attributes_; }
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_BINARY_H_
