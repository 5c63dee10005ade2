#include "generated/attributes/clip_gradient.h"

#include <string.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

// Elements whose copies compilers compute as vectors: y may be dy.
constexpr size_t kBlock = 16;

class ClipGradient final : public OperatorOf<ClipGradientAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const float low = attributes().alpha, high = attributes().beta;
    const float *dy = data<float>(0), *x = data<float>(1);
    float* const y = output().data<float>();
    pool.For(static_cast<size_t>(output().Count()), 1, [=](size_t begin, size_t end, int) {
      size_t i = begin;
      for (; i + kBlock <= end; i += kBlock) {
        float value[kBlock], gradient[kBlock];
        memcpy(value, x + i, sizeof(value));
        memcpy(gradient, dy + i, sizeof(gradient));
        for (size_t j = 0; j < kBlock; ++j)
          gradient[j] = (value[j] > low) & (value[j] < high) ? gradient[j] : 0.0f;
        memcpy(y + i, gradient, sizeof(gradient));
      }
      for (; i < end; ++i) y[i] = x[i] > low && x[i] < high ? dy[i] : 0.0f;
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
