#include "runtime/ops/softmax_rows.h"

#include "runtime/core/memory_plan.h"
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
  TRIMTAB_RETURN_IF_ERROR(Bind(attributes().kernel, family_, &kernel_));
  const Dims dims = input(0).PhysicalDims();
  const int axis = input(0).PhysicalAxis(axis_);
  if (dims.Count(axis + 1, dims.rank) <= 1) return Status();
  row_bytes_ = Aligned(static_cast<uint64_t>(dims[axis]) * sizeof(T));
  return RequestScratch(row_bytes_ * static_cast<uint64_t>(threads()));
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
  pool.For(rows, n * kFunctionCost, [&](size_t begin, size_t end, int thread) {
    for (size_t row = begin; row < end; ++row) {
      const size_t first = row / inner * n * inner + row % inner;
      if (inner == 1) {
        kernel_({x + first, y + first, n});
        continue;
      }
      T* const gathered = scratch<T>(static_cast<size_t>(thread) * static_cast<size_t>(row_bytes_));
      for (size_t i = 0; i < n; ++i) gathered[i] = x[first + i * inner];
      kernel_({gathered, gathered, n});
      for (size_t i = 0; i < n; ++i) y[first + i * inner] = gathered[i];
    }
  });
}

template class SoftmaxRows<float>;
template class SoftmaxRows<Half>;

}  // namespace trimtab
