#include "runtime/ops/binary.h"

#include "runtime/core/strided_copy.h"
#include "runtime/ops/parallel.h"

namespace trimtab {
namespace {

// Dimension `axis` of an operand as the result of `rank` dimensions sees it: aligned at the right,
// 1 where it has none.
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

Status BinaryOperator::InferShape() {
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

void BinaryOperator::PrepareLoops() {
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
  // Kernels take steps of 0 and 1. Others arise only when an operand of fewer than four dimensions
  // meets an NHWC one; then the kernel gets one element at a time.
  if (axis_count_ == 0 || axes_[axis_count_ - 1].a > 1 || axes_[axis_count_ - 1].b > 1 ||
      axes_[axis_count_ - 1].y > 1)
    axes_[axis_count_++] = {1, 0, 0, 1};
}

BinaryF32Args BinaryOperator::RunAt(size_t run) const {
  const Axis& inner = axes_[axis_count_ - 1];
  BinaryF32Args args = {input(0).data<float>(),        input(1).data<float>(),
                        output().data<float>(),        inner.extent,
                        static_cast<uint8_t>(inner.a), static_cast<uint8_t>(inner.b)};
  for (int i = axis_count_ - 2; i >= 0; --i) {
    const size_t index = run % axes_[i].extent;
    run /= axes_[i].extent;
    args.a += index * axes_[i].a;
    args.b += index * axes_[i].b;
    args.y += index * axes_[i].y;
  }
  return args;
}

void BinaryOperator::Run(ThreadPool& pool) {
  constexpr size_t kPiece = 16384;  // long runs are cut, so that threads share them too
  const size_t total = static_cast<size_t>(output().Count());
  if (total == 0) return;
  const size_t extent = axes_[axis_count_ - 1].extent;
  const size_t pieces = DivideUp(extent, kPiece), piece = DivideUp(extent, pieces);
  const size_t count = total / extent * pieces;
  pool.For(count, Grain(count, piece, pool.threads()), [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      BinaryF32Args args = RunAt(i / pieces);
      const size_t first = i % pieces * piece;
      if (first >= extent) continue;
      args.a += first * args.a_step;
      args.b += first * args.b_step;
      args.y += first;
      args.n = extent - first < piece ? extent - first : piece;
      kernel_(args);
      Finish(args.y, args.n);
    }
  });
}

}  // namespace trimtab
