#include "runtime/ops/stored_weights.h"

#include <string.h>

#include "runtime/core/copy.h"
#include "runtime/core/memory_plan.h"

namespace trimtab {
namespace {

constexpr size_t kStep = 4;
typedef float F32Vector __attribute__((vector_size(kStep * sizeof(float))));
typedef uint32_t Words __attribute__((vector_size(kStep * sizeof(uint32_t))));

// FloatFromHalf of a vector, branch-free.
void ExpandStep(float* to, const Half* from) {
  const Words half = {from[0].bits, from[1].bits, from[2].bits, from[3].bits};
  const Words magnitude = half & 0x7FFF, shifted = magnitude << 13;
  // Subnormal halves: in [2^-14, 2^-13) they have the spacing of floats with shorter fractions.
  const F32Vector below = reinterpret_cast<F32Vector>(shifted + (113u << 23)) - 0x1p-14f;
  const Words subnormal = reinterpret_cast<Words>(magnitude < 0x400);
  const Words infinite = reinterpret_cast<Words>(magnitude >= 0x7C00) & 0x7F800000;
  const Words normal = (shifted + (112u << 23)) | infinite;
  const Words bits = (subnormal & reinterpret_cast<Words>(below)) | (~subnormal & normal);
  const Words signed_bits = bits | (half & 0x8000) << 16;
  __builtin_memcpy(to, &signed_bits, sizeof(signed_bits));
}

template <typename T>
void CopyRow(T* to, const T* from, size_t count) {
  Copy(to, from, count * sizeof(T));
}

void CopyRow(float* to, const Half* from, size_t count) {
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) ExpandStep(to + i, from + i);
  for (; i < count; ++i) to[i] = from[i];
}

// y[i] = x[i] * scales[i].
void ScaleRow(float* y, const int8_t* x, const float* scales, size_t count) {
  typedef int8_t Bytes __attribute__((vector_size(kStep)));
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    Bytes bytes;
    F32Vector scale;
    __builtin_memcpy(&bytes, x + i, sizeof(bytes));
    __builtin_memcpy(&scale, scales + i, sizeof(scale));
    const F32Vector scaled = __builtin_convertvector(bytes, F32Vector) * scale;
    __builtin_memcpy(y + i, &scaled, sizeof(scaled));
  }
  for (; i < count; ++i) y[i] = static_cast<float>(x[i]) * scales[i];
}

void ScaleRow(Half* y, const int8_t* x, const float* scales, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i]) * scales[i];
}

constexpr size_t kColors = 16;    // of a palette
constexpr size_t kMaxPanel = 64;  // columns, by the schemas

constexpr int64_t PaletteBytes(int64_t columns) {
  return (static_cast<int64_t>(kColors) + columns) * static_cast<int64_t>(sizeof(Half));
}

template <typename From, typename T>
void CopyRows(const From* from, size_t rows, size_t width, size_t panel, T* to) {
  if (width == panel) return CopyRow(to, from, rows * panel);
  for (; rows > 0; --rows, from += width, to += panel) {
    CopyRow(to, from, width);
    memset(to + width, 0, (panel - width) * sizeof(T));
  }
}

}  // namespace

Status CheckPacking(const Tensor& stored, int64_t elements, Tensor* packed) {
  TRIMTAB_CHECK(stored.bytes >= stored.CountBytes(), "stored weights are too short");
  const uint64_t bytes = static_cast<uint64_t>(elements) * packed->element_size();
  TRIMTAB_CHECK(bytes <= kMaxArenaBytes, "packed weights are too large (elements)", elements);
  packed->bytes = static_cast<size_t>(bytes);
  return Status();
}

Status CheckFloatPacking(const Tensor& stored, int64_t elements, Tensor* packed) {
  TRIMTAB_CHECK(stored.dtype <= DType::kF16, "stored weights are not the floats that it reads");
  return CheckPacking(stored, elements, packed);
}

Status CheckInt8Packing(const Tensor& stored, int64_t columns, int64_t elements, Tensor* packed) {
  const Quantization* const scales = stored.quantization;
  TRIMTAB_CHECK(stored.dtype == DType::kI8 && scales != nullptr &&
                    scales->count == static_cast<uint64_t>(columns),
                "stored weights are not int8 with a scale for each output channel", columns);
  return CheckPacking(stored, elements, packed);
}

Status CheckPalettePacking(const Tensor& stored, int64_t columns, int64_t elements,
                           Tensor* packed) {
  TRIMTAB_CHECK(stored.dtype == DType::kU8 && static_cast<int64_t>(stored.bytes) >=
                                                  PaletteBytes(columns) + (packed->Count() + 1) / 2,
                "stored weights are not a palette with a scale for each output channel", columns);
  return CheckPacking(stored, elements, packed);
}

template <typename T>
void StoredRows::CopyScaled(size_t column, T* to, size_t panel) const {
  const float* const scales = stored.quantization->scales() + column;
  const int8_t* from = stored.data<int8_t>() + first;
  for (size_t row = 0; row < rows; ++row, from += width, to += panel) {
    ScaleRow(to, from, scales, width);
    for (size_t i = width; i < panel; ++i) to[i] = 0.0f;
  }
}

template <typename T>
void StoredRows::CopyColored(size_t column, size_t columns, T* to, size_t panel) const {
  const Half* const palette = static_cast<const Half*>(stored.raw);
  const uint8_t* const indices = reinterpret_cast<const uint8_t*>(palette + kColors + columns);
  float colors[kColors], scales[kMaxPanel];
  CopyRow(colors, palette, kColors);
  CopyRow(scales, palette + kColors + column, width);
  size_t index = first;
  for (size_t row = 0; row < rows; ++row, to += panel) {
    size_t i = 0;
    const auto color = [&] { return colors[indices[index / 2] >> index % 2 * 4 & 15] * scales[i]; };
    if (index % 2 != 0 && width > 0) {
      to[0] = color();
      i = 1;
    }
    const uint8_t* pair = indices + (index + i) / 2;
    for (; i + 2 <= width; i += 2, ++pair) {
      to[i] = colors[*pair & 15] * scales[i];
      to[i + 1] = colors[*pair >> 4] * scales[i + 1];
    }
    index += i;
    if (i < width) {
      to[i] = color();
      ++i;
      ++index;
    }
    for (; i < panel; ++i) to[i] = 0.0f;
  }
}

template <typename T>
void StoredRows::CopyTo(T* to, size_t panel) const {
  if (stored.dtype == DType::kF16)
    CopyRows(stored.data<Half>() + first, rows, width, panel, to);
  else
    CopyRows(stored.data<T>() + first, rows, width, panel, to);
}

template <typename T>
const T* StoredRows::Get(T* scratch, size_t panel) const {
  if (width == panel && stored.dtype == DTypeOf<T>::kValue) return stored.data<T>() + first;
  CopyTo(scratch, panel);
  return scratch;
}

template void StoredRows::CopyScaled(size_t, float*, size_t) const;
template void StoredRows::CopyScaled(size_t, Half*, size_t) const;
template void StoredRows::CopyColored(size_t, size_t, float*, size_t) const;
template void StoredRows::CopyColored(size_t, size_t, Half*, size_t) const;
template void StoredRows::CopyTo(float*, size_t) const;
template void StoredRows::CopyTo(Half*, size_t) const;
template const float* StoredRows::Get(float*, size_t) const;
template const Half* StoredRows::Get(Half*, size_t) const;

}  // namespace trimtab
