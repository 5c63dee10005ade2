// GEMM that broadcasts an element of a to all lanes, for instruction sets that load and broadcast
// in one instruction.
#ifndef TRIMTAB_KERNELS_GENERIC_GEMM_BROADCAST_H_
#define TRIMTAB_KERNELS_GENERIC_GEMM_BROADCAST_H_

#include "kernels/generic/gemm.h"

namespace {

template <int kRowsPerTile, int kColumns, class NarrowVector = F>
struct BroadcastTile {
  static constexpr int kMr = kRowsPerTile, kNr = kColumns, kVectors = kColumns / kLanes;
  static constexpr int kNarrow = 1;
  using Narrow = NarrowVector;
  static constexpr int Smaller(int rows, int) { return rows - 1; }

  // Prefetch distance for weights streamed from memory, one page: hardware prefetchers stop at page
  // ends. With few rows the hardware alone keeps up with memory.
  static constexpr size_t kAhead = 1024;
  static constexpr int kMinRowsToPrefetch = kRowsPerTile / 2;

  template <class V, int kRows, int kUsed>
  static inline void Multiply(const GemmArgs<Element>& args, const Element* w,
                              V (&sums)[kRows][kUsed]) {
    const Element* const* rows = args.a;
    for (size_t t = 0; t < args.taps; ++t, rows += kMr) {
      const Element* a[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) a[i] = rows[i];
      for (size_t p = 0; p < args.k; ++p, w += kNr) {
        V b[kUsed];
        TRIMTAB_UNROLL
        for (int v = 0; v < kUsed; ++v) {
          b[v] = LoadAs<V>(w + v * kLanesOf<V>);
          if (kRows >= kMinRowsToPrefetch) __builtin_prefetch(w + kAhead + v * kLanesOf<V>);
        }
        TRIMTAB_UNROLL
        for (int i = 0; i < kRows; ++i) {
          const V x = SetAs<V>(a[i][p]);
          TRIMTAB_UNROLL
          for (int v = 0; v < kUsed; ++v) sums[i][v] = Fma(x, b[v], sums[i][v]);
        }
      }
    }
  }
};

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_GEMM_BROADCAST_H_
