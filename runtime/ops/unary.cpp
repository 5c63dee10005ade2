#include "runtime/ops/unary.h"

namespace trimtab {

template <typename T>
Status UnaryOperator<T>::InferShape() {
  output().dims = input(0).dims;
  return Status();
}

template <typename T>
void UnaryOperator<T>::Run(ThreadPool& pool) {
  // Costly functions take about 3 ns an element on a small core: a block is worth waking a thread
  // for.
  constexpr size_t kGrain = 8192;
  const Tensor& in = input(0);
  Tensor& out = output();
  const T* x = in.data<T>();
  T* y = out.data<T>();
  pool.For(static_cast<size_t>(input(0).Count()), kGrain, [&](size_t begin, size_t end, int) {
    kernel_({x + begin, y + begin, end - begin, alpha_, beta_});
  });
}

template class UnaryOperator<float>;

}  // namespace trimtab
