#include "runtime/ops/unary.h"

namespace trimtab {

Status UnaryOperator::InferShape() {
  output().dims = input(0).dims;
  return Status();
}

void UnaryOperator::Run(ThreadPool& pool) {
  // Costly functions take about 3 ns an element on a small core: a block is worth waking a thread
  // for.
  constexpr size_t kGrain = 8192;
  const float* x = input(0).data<float>();
  float* y = output().data<float>();
  pool.For(static_cast<size_t>(input(0).Count()), kGrain, [&](size_t begin, size_t end, int) {
    kernel_({x + begin, y + begin, end - begin, alpha_, beta_});
  });
}

}  // namespace trimtab
