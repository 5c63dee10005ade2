#include "kernels/arm/vec_neonfp16.h"

#include "kernels/generic/gemm.h"

namespace {

// The product of gemm_lane_armv8.h in f16: a vector holds eight elements of a row of a, and each lane is
// multiplied with the two vectors of a row of w. 16 sums, 8 vectors of a, and two rows of w, twice,
// each loaded by one instruction: all 32 registers. 16 sums hide the latency of 4 on four pipes
// (Neoverse V1). Only v0 to v15 can be indexed by 16-bit lanes, so these hold a and w.
struct F16Tile {
  static constexpr int kMr = 8, kNr = 16, kVectors = 2;
  static constexpr int kNarrow = 1;
  using Narrow = F;
  // Sequential sums accumulate rounding errors in proportion to the square root of half their
  // length. After this many steps of eight the sum is stored and a new one begun: for 1024 products
  // the error is 6 roundings of the sum's size instead of 23 (blocked summation: Higham 2002,
  // section 4.2; random errors: Higham & Mary 2019), for 2 % more instructions. ncnn and XNNPACK
  // add sequentially in f16.
  static constexpr size_t kBlock = 64 / 8;
  // 5 to 7 rows are computed as 8, 3 as 4; rows of a narrow panel as 8 or 2.
  static constexpr int Smaller(int rows, int vectors) {
    return vectors == kVectors ? rows / 2 : rows > 2 ? 2 : 0;
  }

  template <int kLane, int kRows, int kUsed>
  static inline void MultiplyLane(const Half*& w, const float16x8_t (&a)[kRows],
                                  F (&sums)[kRows][kUsed]) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kUsed; ++v) {
      const F b = Load(w + v * kLanes);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) {
        sums[i][v].v = vfmaq_laneq_f16(sums[i][v].v, b.v, a[i], kLane);
      }
    }
    ::Advance(w, kNr);
  }

  // Multiplies eight elements of every row by eight rows of w, repeatedly.
  template <int kRows, int kUsed>
  static inline void MultiplyBy8(size_t eights, const Half* (&p)[kRows], const Half*& w,
                                 F (&sums)[kRows][kUsed]) {
    TRIMTAB_NO_UNROLL
    for (; eights > 0; --eights) {
      float16x8_t a[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) {
        a[i] = Load(p[i]).v;
        ::Advance(p[i], 8);
      }
      MultiplyLane<0>(w, a, sums);
      MultiplyLane<1>(w, a, sums);
      MultiplyLane<2>(w, a, sums);
      MultiplyLane<3>(w, a, sums);
      MultiplyLane<4>(w, a, sums);
      MultiplyLane<5>(w, a, sums);
      MultiplyLane<6>(w, a, sums);
      MultiplyLane<7>(w, a, sums);
    }
  }

  template <int kRows, int kUsed>
  static inline void AddPartialSums(const Half* partial, F (&sums)[kRows][kUsed]) {
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows * kUsed; ++i) {
      F& sum = sums[i / kUsed][i % kUsed];
      sum = sum + Load(partial + i * kLanes);
    }
  }

  // Begins new sums; the previous ones are at `partial`, if it is used.
  template <int kRows, int kUsed>
  static inline void StorePartialSums(bool has_partial, Half* partial, F (&sums)[kRows][kUsed]) {
    if (has_partial) AddPartialSums(partial, sums);
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows * kUsed; ++i) {
      F& sum = sums[i / kUsed][i % kUsed];
      Store(partial + i * kLanes, sum);
      sum = Set(0.0f);
    }
  }

  template <int kRows, int kUsed>
  static inline void Multiply(const GemmArgs<Half>& args, const Half* w, F (&sums)[kRows][kUsed]) {
    const Half* const* rows = args.a;
    Half memory[kRows * kUsed * kLanes];
    Half* partial = memory;
    __asm__("" : "+r"(partial));  // else the compiler keeps it in registers, which the sums need
    bool has_partial = false;
    size_t room = kBlock;
    for (size_t t = 0; t < args.taps; ++t, rows += kMr) {
      const Half* p[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) p[i] = rows[i];
      for (size_t eights = args.k / 8; eights > 0;) {
        if (room == 0) {
          StorePartialSums(has_partial, partial, sums);
          has_partial = true;
          room = kBlock;
        }
        const size_t count = eights < room ? eights : room;
        MultiplyBy8(count, p, w, sums);
        eights -= count;
        room -= count;
      }
      TRIMTAB_NO_UNROLL
      for (size_t left = args.k % 8; left > 0; --left) {
        F b[kUsed];
        TRIMTAB_UNROLL
        for (int v = 0; v < kUsed; ++v) b[v] = Load(w + v * kLanes);
        ::Advance(w, kNr);
        TRIMTAB_UNROLL
        for (int i = 0; i < kRows; ++i) {
          const F x = {vreinterpretq_f16_u16(vld1q_dup_u16(&p[i]->bits))};
          ::Advance(p[i], 1);
          TRIMTAB_UNROLL
          for (int v = 0; v < kUsed; ++v) sums[i][v] = Fma(x, b[v], sums[i][v]);
        }
      }
    }
    if (has_partial) AddPartialSums(partial, sums);
  }
};

}  // namespace

#include "kernels/arm/gemm_f16_panels.h"

extern "C" void gemm_f16_8x16_neonfp16(const GemmArgs<Half>& args) { Gemm<F16Tile>(args); }
