// Rows of planes as sums of rows: a convolution in plain order. Vectors hold neighbors of a row,
// which several planes read.
#ifndef TRIMTAB_KERNELS_GENERIC_PLANE_ROWS_H_
#define TRIMTAB_KERNELS_GENERIC_PLANE_ROWS_H_

#include "kernels/generic/family.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

constexpr int kPlanes = 4;                        // that are computed together
constexpr int kMaxVectors = kLanes == 8 ? 2 : 4;  // of each: AVX2 has 16 registers

template <int kVectors>
inline void LoadRow(const Element* x, F (&row)[kVectors]) {
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) row[v] = Load(x + v * kLanes);
}

template <int kVectors>
inline void AddRow(const F (&row)[kVectors], Element w, F (&sums)[kVectors]) {
  const F weight = Set(w);
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) sums[v] = Fma(weight, row[v], sums[v]);
}

template <int kVectors>
inline void StartRow(Element bias, F (&sums)[kVectors]) {
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) sums[v] = Set(bias);
}

// The first `count` columns.
template <int kVectors>
inline void StoreRow(const PlaneRowsArgs<Element>& args, const F (&sums)[kVectors], size_t count,
                     Element* y) {
  const F low = Set(args.clamp_min), high = Set(args.clamp_max);
  const size_t last = count - (kVectors - 1) * kLanes;
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const F sum = Min(Max(sums[v], low), high);
    if (v + 1 < kVectors || last == kLanes) {
      Store(y + v * kLanes, sum);
    } else {
      StorePartial(y + v * kLanes, sum, last);
    }
  }
}

// `count` columns from column `i` on, in kVectors vectors, of the kUsed planes from `plane` on.
template <int kUsed, int kVectors>
inline void PlaneBlock(const PlaneRowsArgs<Element>& args, size_t plane, size_t i, size_t count) {
  F sums[kUsed][kVectors], row[kVectors];
  TRIMTAB_UNROLL
  for (int p = 0; p < kUsed; ++p)
    StartRow(args.bias == nullptr ? 0.0f : args.bias[plane + p], sums[p]);
  const Element* w = args.w + plane;
  for (size_t t = 0; t < args.taps; ++t, w += args.planes) {
    LoadRow(args.x + args.offsets[t] + i, row);
    TRIMTAB_UNROLL
    for (int p = 0; p < kUsed; ++p) AddRow(row, w[p], sums[p]);
  }
  TRIMTAB_UNROLL
  for (int p = 0; p < kUsed; ++p)
    StoreRow(args, sums[p], count, args.y + (plane + p) * args.y_plane + i);
}

// The same for two rows of one plane, which share the lines between the first and the last.
template <int kVectors>
inline void PairBlock(const PlaneRowsArgs<Element>& args, size_t i, size_t count) {
  F top[kVectors], bottom[kVectors], row[kVectors];
  const Element bias = args.bias == nullptr ? 0.0f : *args.bias;
  StartRow(bias, top);
  StartRow(bias, bottom);
  const Element *const x = args.x + i, *const w = args.w;
  const size_t line = args.line_taps;
  size_t t = 0;
  for (; t < line; ++t) {
    LoadRow(x + args.offsets[t], row);
    AddRow(row, w[t], top);
  }
  for (; t < args.taps; ++t) {
    LoadRow(x + args.offsets[t], row);
    AddRow(row, w[t], top);
    AddRow(row, w[t - line], bottom);
  }
  for (; t < args.taps + line; ++t) {
    LoadRow(x + args.offsets[t], row);
    AddRow(row, w[t - line], bottom);
  }
  StoreRow(args, top, count, args.y + i);
  StoreRow(args, bottom, count, args.y + args.y_plane + i);
}

// All columns, in as few blocks of kVectors or fewer vectors as there are. kUsed: 0 for a pair.
template <int kUsed, int kVectors = kMaxVectors>
inline void PlaneColumns(const PlaneRowsArgs<Element>& args, size_t plane, size_t i = 0) {
  constexpr size_t kWidth = kVectors * kLanes;
  for (; args.n - i > kWidth - kLanes; i += kWidth) {
    const size_t count = args.n - i < kWidth ? args.n - i : kWidth;
    if constexpr (kUsed == 0) {
      PairBlock<kVectors>(args, i, count);
    } else {
      PlaneBlock<kUsed, kVectors>(args, plane, i, count);
    }
    if (args.n - i <= kWidth) return;
  }
  if constexpr (kVectors > 1) PlaneColumns<kUsed, kVectors - 1>(args, plane, i);
}

TRIMTAB_FAMILY(f32)
inline void PlaneRows(const PlaneRowsArgs<Element>& args) {
  if (args.line_taps != 0) return PlaneColumns<0>(args, 0);
  size_t plane = 0;
  for (; args.planes - plane >= kPlanes; plane += kPlanes) PlaneColumns<kPlanes>(args, plane);
  if (args.planes - plane == 3) return PlaneColumns<3>(args, plane);  // colors
  for (; plane < args.planes; ++plane) PlaneColumns<1>(args, plane);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_PLANE_ROWS_H_
