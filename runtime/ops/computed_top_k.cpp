#include "generated/attributes/computed_top_k.h"

#include "runtime/ops/integer_element.h"
#include "runtime/ops/top_k.h"

namespace trimtab {
namespace {

class ComputedTopK final : public BestElements<ComputedTopK, ComputedTopKAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const int64_t k = IntegerElement(input(1), 0);
    if (k > 0 && k <= most_) {
      SetCount(input(0).dims, static_cast<size_t>(k));
      BestElements::Run(pool);
      return;
    }
    for (int i = 0; i < 2; ++i) output(i).dims[axis_] = k == 0 ? 0 : -1;
  }

 protected:
  Status InferShape() override {
    TRIMTAB_CHECK(input(1).Count() == 1, "there must be one k (elements)", input(1).Count());
    const Dims& x = input(0).dims;
    axis_ = x.Axis(attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0, "axis is out of range (axis, rank)", attributes().axis, x.rank);
    TRIMTAB_CHECK(attributes().k >= 0, "k is negative (k)", attributes().k);
    most_ = attributes().k < x[axis_] ? attributes().k : x[axis_];
    SetCount(x, static_cast<size_t>(most_));
    output(1).dtype = DType::kI64;
    return Status();
  }

 private:
  int64_t most_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ComputedTopK)
