// Base class of reduce_mean, reduce_sum, reduce_max and reduce_min.
#ifndef TRIMTAB_OPS_REDUCE_H_
#define TRIMTAB_OPS_REDUCE_H_

#include "generated/attributes/reduce_mean.h"
#include "runtime/core/operator.h"

namespace trimtab {

enum class Reduction : uint8_t { kMean, kSum, kMax, kMin };

template <Reduction kReduction>
class Reduce final : public OperatorOf<ReduceMeanAttributes> {
 private:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

  Kernel<BinaryArgs<float>> kernel_ = nullptr;
  unsigned reduced_ = 0;  // bit i: axis i is reduced
};

}  // namespace trimtab

#define TRIMTAB_REDUCTION(Name, reduction)                                                  \
  static_assert(sizeof(trimtab::Name##Attributes) == sizeof(trimtab::ReduceMeanAttributes), \
                "the attributes are those of shared/reduction.toml");                       \
  TRIMTAB_OPERATOR_OF(Name, DType::kNone, Reduce<reduction>)

#endif  // TRIMTAB_OPS_REDUCE_H_
