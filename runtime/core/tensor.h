// A view of n-dimensional data: logical dimensions, element type, memory layout, address.
#ifndef TRIMTAB_CORE_TENSOR_H_
#define TRIMTAB_CORE_TENSOR_H_

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel_api.h"

namespace trimtab {

// The numbers are stored in .ttm files (DTYPES in trimtab/schema).
enum class DType : uint8_t {
  kNone = 0,
  kF32 = 1,
  kF16 = 2,
  kI8 = 3,
  kU8 = 4,
  kI32 = 5,
  kI64 = 6,
  kBool = 7,
  // Types that only a network's inputs and outputs have (END_DTYPES in trimtab/schema).
  kF64 = 8,
  kI16 = 9,
  kU16 = 10,
  kU32 = 11
};

// Memory order of a 4-D tensor; the logical dimensions are n, c, h, w in both.
enum class Layout : uint8_t { kPlain = 0, kNhwc = 1 };

size_t ElementSize(DType dtype);  // in bytes; 0 for an unknown type

// Quantization parameters: real = scale * (stored - zero_point). Layout as in a .ttm file: `count`
// scales and then `count` zero points follow.
struct Quantization {
  static constexpr int32_t kPerTensor = -1;

  int32_t axis;    // logical dimension with one scale per index; or kPerTensor
  uint32_t count;  // number of scales: the length of that dimension; 1: per tensor
  const float* scales() const { return reinterpret_cast<const float*>(this + 1); }
  const int32_t* zero_points() const { return reinterpret_cast<const int32_t*>(scales() + count); }
};
static_assert(sizeof(Quantization) == 8, "scales begin 8 bytes on");

// The element type of a C++ type, and its name in kernel names (DTYPES in trimtab/schema).
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<Half> {
  static constexpr DType kValue = DType::kF16;
  static constexpr char kName[] = "f16";
};
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kF32;
  static constexpr char kName[] = "f32";
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType kValue = DType::kI8;
  static constexpr char kName[] = "i8";
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType kValue = DType::kU8;
  static constexpr char kName[] = "u8";
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType kValue = DType::kI32;
  static constexpr char kName[] = "i32";
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType kValue = DType::kI64;
  static constexpr char kName[] = "i64";
};
template <>
struct DTypeOf<bool> {
  static constexpr DType kValue = DType::kBool;
  static constexpr char kName[] = "bool";
};

// More elements than any tensor of a vision network has: the largest weights of VGG-16 have 3/4 of
// it. Their bytes stay below kMaxArenaBytes for every type, so sizes and offsets fit a signed
// 32-bit integer. The same constant in Python: trimtab.program.MAX_ELEMENTS.
constexpr int64_t kMaxElements = int64_t{1} << 27;

struct Dims {
  static constexpr int kMaxRank = 8;

  int rank = 0;
  int32_t d[kMaxRank] = {};

  int32_t operator[](int i) const { return d[i]; }
  int32_t& operator[](int i) { return d[i]; }
  bool operator==(const Dims& other) const;
  bool operator!=(const Dims& other) const { return !(*this == other); }

  // Number of elements; -1 if a dimension is negative or there are more than kMaxElements.
  int64_t Count() const { return Count(0, rank); }
  int64_t Count(int begin, int end) const;
  // Maps an axis in [-rank, rank) to [0, rank); -1 if it is out of range.
  int Axis(int64_t axis) const;
};

class Tensor {
 public:
  Dims dims;
  DType dtype = DType::kNone;
  Layout layout = Layout::kPlain;
  // For a sub-tensor: channels of the NHWC image whose pixels contain this one; else 0.
  int32_t parent_channels = 0;
  const Quantization* quantization = nullptr;  // in the file; null: not quantized
  void* raw = nullptr;
  size_t bytes =
      0;  // size of the data at `raw`; packed weights have another number of elements than Count()

  // Typed address; null if the tensor has another type. Operator::SetUp has checked the type.
  template <typename T>
  T* data() {
    return dtype == DTypeOf<T>::kValue ? static_cast<T*>(raw) : nullptr;
  }
  template <typename T>
  const T* data() const {
    return dtype == DTypeOf<T>::kValue ? static_cast<const T*>(raw) : nullptr;
  }

  int64_t Count() const { return dims.Count(); }
  // Size of Count() elements, which must not be -1; fits 32 bits.
  size_t CountBytes() const;
  size_t element_size() const { return ElementSize(dtype); }

  // Dimensions of a 4-D tensor by their letter.
  int32_t n() const { return dims[0]; }
  int32_t c() const { return dims[1]; }
  int32_t h() const { return dims[2]; }
  int32_t w() const { return dims[3]; }

  // Elements between neighboring pixels of an NHWC image.
  size_t pixel_stride() const {
    return static_cast<size_t>(parent_channels != 0 ? parent_channels : c());
  }

  // Dimensions in memory order, slowest first.
  Dims PhysicalDims() const;
  // Index of logical dimension `axis` in PhysicalDims().
  int PhysicalAxis(int axis) const;
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_TENSOR_H_
