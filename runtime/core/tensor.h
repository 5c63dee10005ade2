// A view of n-dimensional data: logical dimensions, element type, memory layout, address.
#ifndef TRIMTAB_CORE_TENSOR_H_
#define TRIMTAB_CORE_TENSOR_H_

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel_api.h"

namespace trimtab {

// Values are stored in .ttm files (trimtab/schema.py DTYPES).
enum class DType : uint8_t {
  kNone = 0,
  kF32 = 1,
  kF16 = 2,
  kI8 = 3,
  kU8 = 4,
  kI32 = 5,
  kI64 = 6,
  kBool = 7
};

// Memory order of a 4-D tensor; the logical dimensions are n, c, h, w in both.
enum class Layout : uint8_t { kPlain = 0, kNhwc = 1 };

size_t ElementSize(DType dtype);  // bytes; 0 for an unknown type

// What stored integers stand for: real = scale * (stored - zero_point). As it lies in a .ttm file,
// where `count` scales and then `count` zero points follow it.
struct Quantization {
  static constexpr int32_t kPerTensor = -1;

  int32_t axis;    // the logical dimension that has a scale for each index; or kPerTensor
  uint32_t count;  // of scales: the length of that dimension; 1 for the whole tensor
  const float* scales() const { return reinterpret_cast<const float*>(this + 1); }
  const int32_t* zero_points() const { return reinterpret_cast<const int32_t*>(scales() + count); }
};
static_assert(sizeof(Quantization) == 8, "scales begin 8 bytes on");

// Of a C++ type: the element type, and its name in those of kernels (trimtab/schema.py DTYPES).
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

// More elements than any tensor of a vision network has: the largest weights of VGG-16 are 3/4 of
// it. Whatever their type, their bytes are no more than an arena may have (kMaxArenaBytes), so
// sizes and offsets fit 32 bits with a sign. Python has it as trimtab.program.MAX_ELEMENTS.
constexpr int64_t kMaxElements = int64_t{1} << 27;

struct Dims {
  static constexpr int kMaxRank = 8;

  int rank = 0;
  int32_t d[kMaxRank] = {};

  int32_t operator[](int i) const { return d[i]; }
  int32_t& operator[](int i) { return d[i]; }
  bool operator==(const Dims& other) const;
  bool operator!=(const Dims& other) const { return !(*this == other); }

  // Number of elements; -1 when a dimension is negative or there are more than kMaxElements.
  int64_t Count() const { return Count(0, rank); }
  int64_t Count(int begin, int end) const;
  // Maps an axis in [-rank, rank) to [0, rank); -1 when it is outside.
  int Axis(int64_t axis) const;
};

class Tensor {
 public:
  Dims dims;
  DType dtype = DType::kNone;
  Layout layout = Layout::kPlain;
  // Of the NHWC image in whose pixels this one lies, with other channels beside its own; 0: it lies
  // alone.
  int32_t parent_channels = 0;
  const Quantization* quantization = nullptr;  // in the file; null: elements are the numbers
  void* raw = nullptr;
  size_t bytes = 0;  // of the data behind `raw`; packed weights hold other than Count() elements

  // Typed address; null when the tensor holds another type. The dtype was checked by
  // Operator::SetUp.
  template <typename T>
  T* data() {
    return dtype == DTypeOf<T>::kValue ? static_cast<T*>(raw) : nullptr;
  }
  template <typename T>
  const T* data() const {
    return dtype == DTypeOf<T>::kValue ? static_cast<const T*>(raw) : nullptr;
  }

  int64_t Count() const { return dims.Count(); }
  // Of Count() elements, which must not be -1: fits 32 bits.
  size_t CountBytes() const;
  size_t element_size() const { return ElementSize(dtype); }

  // Dimensions of a 4-D tensor by their letter.
  int32_t n() const { return dims[0]; }
  int32_t c() const { return dims[1]; }
  int32_t h() const { return dims[2]; }
  int32_t w() const { return dims[3]; }

  // Elements from a pixel of an NHWC image to the next.
  size_t pixel_stride() const {
    return static_cast<size_t>(parent_channels != 0 ? parent_channels : c());
  }

  // Dimensions in the order they lie in memory, slowest first.
  Dims PhysicalDims() const;
  // Where logical dimension `axis` stands in PhysicalDims().
  int PhysicalAxis(int axis) const;
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_TENSOR_H_
