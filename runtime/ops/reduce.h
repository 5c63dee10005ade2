// What reduce_mean, reduce_sum, reduce_max and reduce_min share.
#ifndef TRIMTAB_OPS_REDUCE_H_
#define TRIMTAB_OPS_REDUCE_H_

#include "runtime/core/operator.h"

namespace trimtab {

enum class Reduction : uint8_t { kMean, kSum, kMax, kMin };

// Sets `y` to the shape of `x` without `axes`, and bit i of `reduced` for every axis i.
Status ReduceShape(const Tensor& x, const IntList& axes, bool keep_dims, bool may_be_empty, Dims* y,
                   unsigned* reduced);

void Reduce(Reduction reduction, const Tensor& x, unsigned reduced, float* y, ThreadPool& pool);

template <typename Attributes, Reduction kReduction>
class ReduceOf : public OperatorOf<Attributes> {
 public:
  void Run(ThreadPool& pool) override {
    Reduce(kReduction, this->input(0), reduced_, static_cast<float*>(this->output().raw), pool);
  }

 protected:
  Status InferShape() override {
    return ReduceShape(this->input(0), this->attributes().axes, this->attributes().keep_dims,
                       kReduction == Reduction::kSum, &this->output().dims, &reduced_);
  }

 private:
  unsigned reduced_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_REDUCE_H_
