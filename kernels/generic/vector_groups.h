// Vectors side by side: one instruction may load or store all of them and advance the pointer.
#ifndef TRIMTAB_KERNELS_GENERIC_VECTOR_GROUPS_H_
#define TRIMTAB_KERNELS_GENERIC_VECTOR_GROUPS_H_

#include "kernels/generic/unroll.h"

namespace {

constexpr size_t kStep = kVectorsPerAccess * kLanes;  // in elements

// Loads the vectors at p and advances by a step; a vec_<isa>.h may override it.
template <int kVectors>
inline void LoadAndAdvance(const Element*& p, size_t n, F (&x)[kVectors]) {
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) x[v] = Load(p + v * kLanes);
  p += n;
}
template <int kVectors>
inline void StoreAndAdvance(Element*& p, size_t n, const F (&x)[kVectors]) {
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) Store(p + v * kLanes, x[v]);
  p += n;
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_VECTOR_GROUPS_H_
