#include "runtime/ops/unary.h"

namespace trimtab {

template <typename T>
UnaryOperator<T>::UnaryOperator(uint16_t family, float beta) : family_(family) {
  attributes_.beta = beta;
}

template <typename T>
Status UnaryOperator<T>::InferShape() {
  output().dims = input(0).dims;
  return Status();
}

template <typename T>
Status UnaryOperator<T>::Prepare() {
  return Bind(attributes().kernel, family_, &kernel_);
}

template <typename T>
void UnaryOperator<T>::Run(ThreadPool& pool) {
  const Tensor& in = input(0);
  Tensor& out = output();
  const T* x = in.data<T>();
  T* y = out.data<T>();
  pool.For(static_cast<size_t>(input(0).Count()), 1, [&](size_t begin, size_t end, int) {
    kernel_({x + begin, y + begin, end - begin, attributes().alpha, attributes().beta});
  });
}

template class UnaryOperator<float>;
template class UnaryOperator<Half>;

}  // namespace trimtab
