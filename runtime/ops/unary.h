// Element-wise operators of one operand: an operator is its attributes and the family of its
// micro-kernel.
#ifndef TRIMTAB_OPS_UNARY_H_
#define TRIMTAB_OPS_UNARY_H_

#include "runtime/core/operator.h"

namespace trimtab {

// What does not depend on the attributes' type, so that it is compiled once.
template <typename T>
class UnaryOperator : public Operator {
 protected:
  Status InferShape() final;
  void Run(ThreadPool& pool) final;

  Kernel<UnaryArgs<T>> kernel_ = nullptr;
  float alpha_ = 0, beta_ = 0;
};

// `kFamily`: NameHash. Attributes may have `alpha`, or `alpha` and `beta`; what is missing is 0.
template <typename T, typename Attributes, uint32_t kFamily>
class Unary : public UnaryOperator<T> {
 private:
  void* AttributeStorage() final { return &attributes_; }

  Status Prepare() final {
    SetAlpha(attributes_, 0);
    SetBeta(attributes_, 0);
    return Bind<kFamily>(attributes_.kernel, &this->kernel_);
  }

  // The second parameter prefers the first overload where both are possible.
  template <typename A>
  auto SetAlpha(const A& a, int) -> decltype(void(a.alpha)) {
    this->alpha_ = a.alpha;
  }
  template <typename A>
  void SetAlpha(const A&, long) {}
  template <typename A>
  auto SetBeta(const A& a, int) -> decltype(void(a.beta)) {
    this->beta_ = a.beta;
  }
  template <typename A>
  void SetBeta(const A&, long) {}

  Attributes attributes_;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_UNARY_H_
