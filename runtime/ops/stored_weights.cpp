#include "runtime/ops/stored_weights.h"

#include <string.h>

#include "runtime/core/copy.h"
#include "runtime/core/memory_plan.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

template <typename T>
void CopyRow(T* to, const T* from, size_t count) {
  Copy(to, from, count * sizeof(T));
}

void CopyRow(float* to, const Half* from, size_t count) {
  constexpr size_t kStep = kExpandedHalves;
  for (; count >= kStep; count -= kStep, to += kStep, from += kStep) ExpandHalves(to, from);
  for (; count > 0; --count) *to++ = *from++;
}

// Vectors of kCount elements.
template <size_t kCount>
struct VectorsOf {
  typedef int8_t Bytes __attribute__((vector_size(kCount)));
  typedef int16_t Shorts __attribute__((vector_size(kCount * sizeof(int16_t))));
  typedef float Floats __attribute__((vector_size(kCount * sizeof(float))));
};

// Multiplies the next columns of all rows by their scales, in vectors of kColumns.
template <size_t kColumns>
void ScaleColumns(const ScaledRows& x, size_t* column, float* y, size_t panel) {
  using Bytes = typename VectorsOf<kColumns>::Bytes;
  using Shorts = typename VectorsOf<kColumns>::Shorts;
  using Floats = typename VectorsOf<kColumns>::Floats;
  const size_t width = x.width;
  // A zero that compilers do not know: they would convert bytes to floats in more instructions than
  // by way of a sum of 16 bits.
  int16_t zero = 0;
  __asm__("" : "+r"(zero));
  for (; *column + kColumns <= width; *column += kColumns) {
    Floats scale;
    __builtin_memcpy(&scale, x.scales + *column, sizeof(scale));
    const int8_t* from = x.from + *column;
    float* to = y + *column;
    for (size_t i = x.rows; i > 0; --i, from += width, to += panel) {
      Bytes bytes;
      __builtin_memcpy(&bytes, from, sizeof(bytes));
      const Shorts shorts = __builtin_convertvector(bytes, Shorts) + zero;
      const Floats scaled = __builtin_convertvector(shorts, Floats) * scale;
      __builtin_memcpy(to, &scaled, sizeof(scaled));
    }
  }
}

void ScaleVectors(const ScaledRows& x, size_t* column, float* y, size_t panel) {
  ScaleColumns<16>(x, column, y, panel);
  ScaleColumns<8>(x, column, y, panel);
  ScaleColumns<4>(x, column, y, panel);
}

void ScaleVectors(const ScaledRows&, size_t*, Half*, size_t) {}

constexpr uint32_t kBits = 12, kSlots = 1 << kBits;
constexpr size_t kUnrolled = 4;  // weights; a divisor of 64, to which panels have room

// Coded weights begin with the place of each panel's code, u32, and the high half of each column's
// scale; this table follows.
struct CodeTable {
  // Each slot has its weight in the low 8 bits, then 12 bits with its index among the slots of that
  // weight, and from bit 20 on the number of these slots.
  uint32_t slots[kSlots];
};
constexpr size_t kTableBytes = RoundUp<size_t>(sizeof(CodeTable), 64);
constexpr size_t kScalesAt = RoundUp<size_t>(sizeof(DecodedPanel), 64);  // of a place

uint32_t Halfword(const uint8_t* from) {
  uint16_t half;
  __builtin_memcpy(&half, from, sizeof(half));
  return half;
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

Status CodedPanels::SetUp(const Tensor& stored, int64_t columns, uint64_t panels, size_t largest,
                          uint64_t places, uint64_t* bytes) {
  const uint64_t scales = static_cast<uint64_t>(columns) * sizeof(uint16_t);
  TRIMTAB_CHECK(stored.dtype == DType::kU8 && stored.bytes / sizeof(uint32_t) >= panels &&
                    stored.bytes >= panels * sizeof(uint32_t) + scales,
                "stored weights are not coded with a scale for each output channel", columns);
  columns_ = static_cast<size_t>(columns);
  panels_ = static_cast<size_t>(panels);
  place_bytes_ = kScalesAt + kMaxPanel * sizeof(float) + RoundUp<size_t>(largest, 64);
  *bytes = RoundUp<uint64_t>(*bytes, 64);
  table_at_ = static_cast<size_t>(*bytes);
  places_at_ = table_at_ + kTableBytes;
  *bytes += kTableBytes + places * place_bytes_;
  return Status();
}

void CodedPanels::Read(const Tensor& stored, uint8_t* scratch) const {
  CodeTable& table = *reinterpret_cast<CodeTable*>(scratch + table_at_);
  const uint8_t* const end = stored.data<uint8_t>() + stored.bytes;
  const uint8_t* from = stored.data<uint8_t>() + panels_ * sizeof(uint32_t) + columns_ * 2;
  const auto next = [&]() -> uint32_t { return from < end ? *from++ : 0; };
  uint32_t weight = next();
  uint32_t* to = table.slots;
  uint32_t* const last = to + kSlots;
  for (uint32_t left = next() + 1; left > 0; --left, ++weight) {
    uint32_t count = next();
    if (count >= 128) count = (count & 127) << 8 | next();
    const uint32_t slot = count << 20 | (weight & 255);
    for (uint32_t i = 0; i < count && to < last; ++i) *to++ = slot | i << 8;
  }
  while (to < last) *to++ = 0;
}

void CodedPanels::Open(const Tensor& stored, uint8_t* scratch, size_t index, size_t first,
                       size_t count, size_t column, size_t width, size_t place) const {
  const CodeTable& table = *reinterpret_cast<const CodeTable*>(scratch + table_at_);
  uint8_t* const memory = scratch + places_at_ + place * place_bytes_;
  float* const scales = reinterpret_cast<float*>(memory + kScalesAt);
  int8_t* const steps = reinterpret_cast<int8_t*>(scales + kMaxPanel);
  const uint8_t* const begin = stored.data<uint8_t>();
  const uint8_t* const last = begin + stored.bytes - 2;
  const uint8_t* from = begin + panels_ * sizeof(uint32_t) + column * 2;
  for (size_t i = 0; i < width; ++i, from += 2) {
    const uint32_t bits = Halfword(from) << 16;
    __builtin_memcpy(scales + i, &bits, sizeof(bits));
  }
  const uint32_t at = static_cast<const uint32_t*>(stored.raw)[index];
  from = at < stored.bytes - 1 ? begin + at : last;
  uint32_t state = 0;
  const auto refill = [&] {
    state = state << 16 | Halfword(from);
    from = from < last ? from + 2 : last;
  };
  refill();
  refill();
  // Some weights beyond the panel are decoded, too: it has room for them.
  for (int8_t *step = steps, *const behind = steps + count; step < behind; step += kUnrolled) {
#pragma GCC unroll 4
    for (size_t i = 0; i < kUnrolled; ++i) {
      const uint32_t slot = table.slots[state % kSlots];
      step[i] = static_cast<int8_t>(slot);
      state = (slot >> 20) * (state >> kBits) + (slot >> 8) % kSlots;
      if (state < 1 << 16) refill();
    }
  }
  *reinterpret_cast<DecodedPanel*>(memory) = {steps, scales, first, column};
}

template <typename T>
void ScaledRows::CopyTo(T* to, size_t panel) const {
  size_t column = 0;
  ScaleVectors(*this, &column, to, panel);
  for (; column < panel; ++column) {
    for (size_t i = 0; i < rows; ++i) {
      const bool is_stored = column < width;
      to[i * panel + column] =
          is_stored ? static_cast<float>(from[i * width + column]) * scales[column] : 0.0f;
    }
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

template void ScaledRows::CopyTo(float*, size_t) const;
template void ScaledRows::CopyTo(Half*, size_t) const;
template void StoredRows::CopyTo(float*, size_t) const;
template void StoredRows::CopyTo(Half*, size_t) const;
template const float* StoredRows::Get(float*, size_t) const;
template const Half* StoredRows::Get(Half*, size_t) const;

}  // namespace trimtab
