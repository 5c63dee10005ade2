#include "runtime/ops/binary.h"

#include "runtime/core/parallel.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

// Length of dimension `axis` of an operand, aligned at the right to a result of `rank` dimensions;
// 1 if the operand lacks it.
int32_t Extent(const Tensor& operand, int rank, int axis) {
  const int own = axis - (rank - operand.dims.rank);
  return own < 0 ? 1 : operand.dims[own];
}

size_t Stride(const Tensor& operand, const ptrdiff_t* strides, int rank, int axis) {
  return Extent(operand, rank, axis) == 1
             ? 0
             : static_cast<size_t>(strides[axis - (rank - operand.dims.rank)]);
}

}  // namespace

template <typename T>
Status BinaryLoops<T>::InferShape() {
  const Tensor &a = input(0), &b = input(1);
  Dims& y = output().dims;
  y.rank = a.dims.rank > b.dims.rank ? a.dims.rank : b.dims.rank;
  for (int i = 0; i < y.rank; ++i) {
    const int32_t left = Extent(a, y.rank, i), right = Extent(b, y.rank, i);
    TRIMTAB_CHECK(left == right || left == 1 || right == 1,
                  "operands cannot be broadcast (left, right)", left, right);
    y[i] = left == 1 ? right : left;
  }
  return Status();
}

template <typename T>
void BinaryLoops<T>::PrepareLoops() {
  const Tensor &a = input(0), &b = input(1), &y = output();
  const int rank = y.dims.rank;
  ptrdiff_t a_strides[Dims::kMaxRank], b_strides[Dims::kMaxRank], y_strides[Dims::kMaxRank];
  LogicalStrides(a, a_strides);
  LogicalStrides(b, b_strides);
  LogicalStrides(y, y_strides);
  int logical[Dims::kMaxRank];  // by physical position
  for (int i = 0; i < rank; ++i) logical[y.PhysicalAxis(i)] = i;
  axis_count_ = 0;
  for (int i = 0; i < rank; ++i) {
    const int axis = logical[i];
    if (y.dims[axis] == 1) continue;
    const Axis next = {static_cast<size_t>(y.dims[axis]), Stride(a, a_strides, rank, axis),
                       Stride(b, b_strides, rank, axis), static_cast<size_t>(y_strides[axis])};
    Axis* last = axis_count_ > 0 ? &axes_[axis_count_ - 1] : nullptr;
    if (last != nullptr && last->a == next.extent * next.a && last->b == next.extent * next.b &&
        last->y == next.extent * next.y) {
      *last = {last->extent * next.extent, next.a, next.b, next.y};
    } else {
      axes_[axis_count_++] = next;
    }
  }
  // Kernels take steps of 0 and 1. Other steps occur only if an operand of fewer than four
  // dimensions meets an NHWC operand; then a row is one element.
  if (axis_count_ == 0 || axes_[axis_count_ - 1].a > 1 || axes_[axis_count_ - 1].b > 1 ||
      axes_[axis_count_ - 1].y > 1)
    axes_[axis_count_++] = {1, 0, 0, 1};
  if (axis_count_ == 1) {
    axes_[1] = axes_[0];
    axes_[0] = {1, 0, 0, 0};
    axis_count_ = 2;
  }
}

// The kernel's arguments for row `row` of the result. The caller sets the number of rows, and the
// part of each row.
template <typename T>
BinaryArgs<T> BinaryLoops<T>::RowsAt(size_t row) const {
  const Axis &inner = axes_[axis_count_ - 1], &rows = axes_[axis_count_ - 2];
  const Tensor &a = input(0), &b = input(1);
  Tensor& y = output();
  BinaryArgs<T> args;
  args.a = a.data<T>();
  args.b = b.data<T>();
  args.y = y.data<T>();
  args.n = inner.extent;
  args.rows = 1;
  args.a_row = rows.a;
  args.b_row = rows.b;
  args.y_row = rows.y;
  args.a_step = static_cast<uint8_t>(inner.a);
  args.b_step = static_cast<uint8_t>(inner.b);
  for (int i = axis_count_ - 2; i >= 0; --i) {
    const size_t index = row % axes_[i].extent;
    row /= axes_[i].extent;
    args.a += index * axes_[i].a;
    args.b += index * axes_[i].b;
    args.y += index * axes_[i].y;
  }
  return args;
}

template <typename T>
void BinaryLoops<T>::Run(ThreadPool& pool) {
  const size_t total = static_cast<size_t>(output().Count());
  const size_t extent = axes_[axis_count_ - 1].extent, rows = axes_[axis_count_ - 2].extent;
  // Threads share elements, not rows, so that they also split a single long row.
  pool.For(total, 1, [&](size_t begin, size_t end, int) {
    while (begin < end) {
      const size_t row = begin / extent, first = begin % extent;
      BinaryArgs<T> args = RowsAt(row);
      args.a += first * args.a_step;
      args.b += first * args.b_step;
      args.y += first;
      args.n = Min(Min(extent - first, end - begin), max_elements_);
      if (args.n == extent)
        args.rows = Min(rows - row % rows, Min(end - begin, max_elements_) / extent);
      begin += args.n * args.rows;
      kernel_(args);
      Finish(args);
    }
  });
}

template <typename T>
BinaryOperator<T>::BinaryOperator(uint16_t family)
    : BinaryLoops<T>(&attributes_), family_(family) {}

template <typename T>
Status BinaryOperator<T>::Prepare() {
  this->PrepareLoops();
  return Bind(attributes_.kernel, family_, &this->kernel_);
}

template class BinaryLoops<float>;
template class BinaryLoops<Half>;
template class BinaryOperator<float>;
template class BinaryOperator<Half>;

}  // namespace trimtab
