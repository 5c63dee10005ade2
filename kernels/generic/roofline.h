// The limits of the machine, to compare kernels with: peak rates of multiply-add, read and copy. No
// operator calls these families; only the Python engine contains them.
#ifndef TRIMTAB_KERNELS_GENERIC_ROOFLINE_H_
#define TRIMTAB_KERNELS_GENERIC_ROOFLINE_H_

#include "kernels/generic/family.h"
#include "kernels/kernel_api.h"

namespace {

// n multiply-adds in outer products of 4 x 3 vectors: enough sums to hide the latency, few enough
// for 16 registers. x: 64 elements and 4 vectors. Addresses change in every iteration, so that the
// compiler cannot hoist the products.
TRIMTAB_FAMILY(f32, f16)
inline void Peak(const UnaryArgs<Element>& args) {
  constexpr int kRows = 4, kColumns = 3;
  F sums[kRows][kColumns], b[kColumns];
  for (int j = 0; j < kColumns; ++j) b[j] = Load(args.x + j);
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) sums[i][j] = b[j];
  }
  for (size_t iteration = 0; iteration < args.n / (kRows * kColumns * kLanes); ++iteration) {
    const Element* const a = args.x + iteration % 64;
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const F row = Load(a + static_cast<size_t>(i) * kLanes);
#pragma GCC unroll 3
      for (int j = 0; j < kColumns; ++j) sums[i][j] = Fma(row, b[j], sums[i][j]);
    }
  }
  F sum = sums[0][0];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) sum = Max(sum, sums[i][j]);
  }
  Store(args.y, sum);
}

// Reads n elements, a multiple of 8 vectors.
TRIMTAB_FAMILY(f32)
inline void Read(const UnaryArgs<Element>& args) {
  constexpr int kSums = 8;
  F sums[kSums];
  for (F& sum : sums) sum = Set(0.0f);
  for (size_t i = 0; i < args.n; i += kSums * kLanes) {
#pragma GCC unroll 8
    for (int j = 0; j < kSums; ++j)
      sums[j] = sums[j] + Load(args.x + i + static_cast<size_t>(j) * kLanes);
  }
  for (const F& sum : sums) sums[0] = Max(sums[0], sum);
  Store(args.y, sums[0]);
}

// Copies n elements, a multiple of a vector.
TRIMTAB_FAMILY(f32)
inline void Copy(const UnaryArgs<Element>& args) {
  for (size_t i = 0; i < args.n; i += kLanes) Store(args.y + i, Load(args.x + i));
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_ROOFLINE_H_
