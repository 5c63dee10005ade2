#include "runtime/ops/softmax_rows.h"

#include "runtime/core/parallel.h"

namespace trimtab {

template <typename T>
SoftmaxRows<T>::SoftmaxRows(uint16_t family) : family_(family) {}

template <typename T>
Status SoftmaxRows<T>::InferShape() {
  const int64_t axis = attributes().axis;
  axis_ = input(0).dims.Axis(axis);
  TRIMTAB_CHECK(axis_ >= 0, "axis is out of range (axis, rank)", axis, input(0).dims.rank);
  output().dims = input(0).dims;
  return Status();
}

template <typename T>
Status SoftmaxRows<T>::Prepare() {
  return Bind(attributes().kernel, family_, &kernel_);
}

template <typename T>
void SoftmaxRows<T>::Run(ThreadPool& pool) {
  const Dims dims = input(0).PhysicalDims();
  const int axis = input(0).PhysicalAxis(axis_);
  const auto n = static_cast<size_t>(dims[axis]);
  const auto inner = static_cast<size_t>(dims.Count(axis + 1, dims.rank));
  const size_t rows = static_cast<size_t>(dims.Count(0, axis)) * inner;
  const Tensor& in = input(0);
  Tensor& out = output();
  const T* x = in.data<T>();
  T* y = out.data<T>();
  pool.For(rows, n * kFunctionCost, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      const size_t first = row / inner * n * inner + row % inner;
      kernel_({x + first, y + first, n, inner});
    }
  });
}

template class SoftmaxRows<float>;
template class SoftmaxRows<Half>;

}  // namespace trimtab
