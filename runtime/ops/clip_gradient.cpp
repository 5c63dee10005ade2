#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

class ClipGradient final : public OperatorOf<ClipGradientAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const float low = attributes().alpha, high = attributes().beta;
    const float *dy = data<float>(0), *x = data<float>(1);
    float* const y = output().data<float>();
    pool.For(static_cast<size_t>(output().Count()), 1, [=](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) y[i] = x[i] > low && x[i] < high ? dy[i] : 0.0f;
    });
  }

 protected:
  Status InferShape() override {
    TRIMTAB_CHECK(input(0).dims == input(1).dims, "dy and x must be of one shape (ranks)",
                  input(0).dims.rank, input(1).dims.rank);
    output().dims = input(0).dims;
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ClipGradient)
