// Partial vectors of f16, through memory. Included after Load, Store and kLanes are defined.
#ifndef TRIMTAB_KERNELS_ARM_PARTIAL_VECTORS_F16_H_
#define TRIMTAB_KERNELS_ARM_PARTIAL_VECTORS_F16_H_

namespace {

inline F LoadPartial(const Half* p, size_t count) {
  if (count == kLanes) return Load(p);
  Half lanes[kLanes] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = p[i];
  return Load(lanes);
}
inline void StorePartial(Half* p, F a, size_t count) {
  if (count == kLanes) return Store(p, a);
  Half lanes[kLanes];
  Store(lanes, a);
  for (size_t i = 0; i < count; ++i) p[i] = lanes[i];
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_PARTIAL_VECTORS_F16_H_
