#include "runtime/core/tensor.h"

namespace trimtab {

size_t ElementSize(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
    case DType::kU32:
      return 4;
    case DType::kF16:
    case DType::kI16:
    case DType::kU16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
    case DType::kI64:
    case DType::kF64:
      return 8;
    case DType::kNone:
      break;
  }
  return 0;
}

bool Dims::operator==(const Dims& other) const {
  if (rank != other.rank) return false;
  for (int i = 0; i < rank; ++i) {
    if (d[i] != other.d[i]) return false;
  }
  return true;
}

int64_t Dims::Count(int begin, int end) const {
  // A zero dimension does not excuse large ones: products of a subset of the dimensions must fit as
  // well.
  int64_t count = 1;
  bool empty = false;
  for (int i = begin; i < end; ++i) {
    if (d[i] < 0) return -1;
    empty = empty || d[i] == 0;
    count *= d[i] == 0 ? 1 : d[i];
    if (count > kMaxElements) return -1;
  }
  return empty ? 0 : count;
}

int Dims::Axis(int64_t axis) const {
  if (axis < -rank || axis >= rank) return -1;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

size_t Tensor::CountBytes() const { return static_cast<size_t>(Count()) * element_size(); }

Dims Tensor::PhysicalDims() const {
  Dims physical = dims;
  for (int i = 0; i < dims.rank; ++i) physical[PhysicalAxis(i)] = dims[i];
  return physical;
}

int Tensor::PhysicalAxis(int axis) const {
  if (layout == Layout::kPlain || dims.rank != 4 || axis == 0) return axis;
  return axis == 1 ? 3 : axis - 1;
}

}  // namespace trimtab
