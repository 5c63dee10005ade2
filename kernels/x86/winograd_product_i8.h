// The x86 GEMM kernels for transformed int8 tiles: two elements of the depth of a row at a time.
//
// A kernel supplies Lanes: kMr rows by kVectors of Sums, of kLanes each; Load(w), the weights for a
// vector of Sums; Broadcast(a), two elements of a row; Add(sum, w, x); Store(c, sum).
#ifndef TRIMTAB_KERNELS_X86_WINOGRAD_PRODUCT_I8_H_
#define TRIMTAB_KERNELS_X86_WINOGRAD_PRODUCT_I8_H_

#include <immintrin.h>

#include "kernels/generic/unroll.h"
#include "kernels/generic/winograd_product_i8.h"

namespace {

constexpr size_t kPair = 2;  // elements of the depth that are multiplied at once

template <class Lanes>
struct PairTile {
  static constexpr int kMr = Lanes::kMr;
  static constexpr size_t kNr = Lanes::kLanes * Lanes::kVectors;

  template <int kRows>
  __attribute__((noinline)) static void Multiply(const WinogradProductArgs<int8_t>& args,
                                                 const int16_t* a, const int16_t* w, int32_t* c) {
    typename Lanes::Vector sums[kRows][Lanes::kVectors] = {};
    const int16_t* rows[kRows];
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i) rows[i] = a + static_cast<size_t>(i) * args.a_stride;
    for (size_t p = 0; p < args.k; p += kPair) {
      typename Lanes::Vector b[Lanes::kVectors];
      TRIMTAB_UNROLL
      for (int v = 0; v < Lanes::kVectors; ++v, w += kPair * Lanes::kLanes) b[v] = Lanes::Load(w);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const auto x = Lanes::Broadcast(rows[i] + p);
        TRIMTAB_UNROLL
        for (int v = 0; v < Lanes::kVectors; ++v) Lanes::Add(&sums[i][v], b[v], x);
      }
    }
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i, c += args.c_stride) {
      TRIMTAB_UNROLL
      for (int v = 0; v < Lanes::kVectors; ++v) Lanes::Store(c + v * Lanes::kLanes, sums[i][v]);
    }
  }
};

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_WINOGRAD_PRODUCT_I8_H_
