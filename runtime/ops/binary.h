// Element-wise operators of two operands with numpy broadcasting, in any layout.
#ifndef TRIMTAB_OPS_BINARY_H_
#define TRIMTAB_OPS_BINARY_H_

#include "runtime/core/operator.h"

namespace trimtab {

// What does not depend on the attributes' type, so that it is compiled once.
class BinaryOperator : public Operator {
 protected:
  Status InferShape() override;
  void Run(ThreadPool& pool) final;

  // Finds the loops over the operands; the kernel is to be bound beside it.
  void PrepareLoops();
  // Called for results that were just written.
  virtual void Finish(const BinaryF32Args&) const {}

  Kernel<BinaryF32Args> kernel_ = nullptr;

 private:
  struct Axis {
    size_t extent;
    size_t a, b, y;  // strides in elements, 0 where an operand is broadcast
  };

  BinaryF32Args RowsAt(size_t row) const;

  // In memory order of the result, neighbours joined where all operands allow it. The last two are
  // the kernel's.
  Axis axes_[Dims::kMaxRank + 1];
  int axis_count_ = 0;
};

template <typename Attributes, uint16_t kFamily>
class Binary : public BinaryOperator {
 protected:
  Status Prepare() override {
    PrepareLoops();
    return Bind(attributes_.kernel, kFamily, &kernel_);
  }

  Attributes attributes_;

 private:
  void* AttributeStorage() final { return &attributes_; }
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_BINARY_H_
