#include "runtime/ops/stored_weights.h"

#include <string.h>

#include "runtime/core/copy.h"
#include "runtime/core/half.h"
#include "runtime/core/memory_plan.h"

namespace trimtab {
namespace {

constexpr size_t kStep = 4;
typedef float Floats __attribute__((vector_size(kStep * sizeof(float))));
typedef uint32_t Words __attribute__((vector_size(kStep * sizeof(uint32_t))));

// FloatFromHalf of so many, without branches.
void ExpandStep(float* to, const uint16_t* from) {
  const Words half = {from[0], from[1], from[2], from[3]};
  const Words magnitude = half & 0x7FFF, shifted = magnitude << 13;
  // Of subnormal halves: in [2^-14, 2^-13) their spacing is that of floats with shorter fractions.
  const Floats below = reinterpret_cast<Floats>(shifted + (113u << 23)) - 0x1p-14f;
  const Words subnormal = reinterpret_cast<Words>(magnitude < 0x400);
  const Words infinite = reinterpret_cast<Words>(magnitude >= 0x7C00) & 0x7F800000;
  const Words normal = (shifted + (112u << 23)) | infinite;
  const Words bits = (subnormal & reinterpret_cast<Words>(below)) | (~subnormal & normal);
  const Words signed_bits = bits | (half & 0x8000) << 16;
  __builtin_memcpy(to, &signed_bits, sizeof(signed_bits));
}

void CopyRow(float* to, const float* from, size_t count) { Copy(to, from, count * sizeof(float)); }

void CopyRow(float* to, const uint16_t* from, size_t count) {
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) ExpandStep(to + i, from + i);
  for (; i < count; ++i) to[i] = FloatFromHalf(from[i]);
}

template <typename T>
void CopyRows(const T* from, size_t rows, size_t width, size_t panel, float* to) {
  if (width == panel) return CopyRow(to, from, rows * panel);
  for (; rows > 0; --rows, from += width, to += panel) {
    CopyRow(to, from, width);
    memset(to + width, 0, (panel - width) * sizeof(float));
  }
}

}  // namespace

Status CheckPacking(const Tensor& stored, int64_t floats, Tensor* made) {
  TRIMTAB_CHECK(stored.bytes >= stored.CountBytes(), "stored weights are too short");
  const uint64_t bytes = static_cast<uint64_t>(floats) * sizeof(float);
  TRIMTAB_CHECK(bytes <= kMaxArenaBytes, "packed weights are too large (floats)", floats);
  made->bytes = static_cast<size_t>(bytes);
  return Status();
}

void StoredRows::CopyTo(float* to, size_t panel) const {
  if (stored.dtype == DType::kF16)
    CopyRows(static_cast<const uint16_t*>(stored.raw) + first, rows, width, panel, to);
  else
    CopyRows(stored.data<float>() + first, rows, width, panel, to);
}

const float* StoredRows::Get(float* scratch, size_t panel) const {
  if (width == panel && stored.dtype == DType::kF32) return stored.data<float>() + first;
  CopyTo(scratch, panel);
  return scratch;
}

}  // namespace trimtab
