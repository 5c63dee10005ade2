// GEMM for Armv8: a vector holds consecutive elements of a row of a, and each lane is multiplied
// with the vectors of a row of w, which one instruction loads.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_LANE_ARMV8_H_
#define TRIMTAB_KERNELS_ARM_GEMM_LANE_ARMV8_H_

#include "kernels/arm/gemm_lane_armv8_macros.h"
#include "kernels/generic/gemm.h"

namespace {

struct LaneTile {
  static constexpr int kMr = 4, kNr = 16, kVectors = 4;
  static constexpr int kNarrow = TRIMTAB_NARROW_VECTORS;
  using Narrow = F;
  // 3 rows are computed as 4, as are rows of a narrow panel: loading the weights takes longer, and
  // code stays small.
  static constexpr int Smaller(int rows, int vectors) {
    return kNarrow > 0 && vectors == kVectors ? rows / 2 : 0;
  }

  // Keeps the compiler from turning pointer steps into sums with a base, which cost an instruction
  // each; a load with post-increment is free.
  static inline void Advance(const float*& p, size_t count) {
    p += count;
    __asm__("" : "+r"(p));
  }

  // Loads eight elements of a row of a with post-increment, which the compiler would not use. Reads
  // only memory that the kernel does not write, so memory is no operand.
  static inline void LoadEightElements(const float*& p, float32x4_t* low, float32x4_t* high) {
    __asm__("ldp %q0, %q1, [%2], #32" : "=w"(*low), "=w"(*high), "+r"(p));
  }

  // A row of w: the vectors of it that are used.
  static inline void LoadRow(const float*& w, F (&b)[4]) {
    const float32x4x4_t row = vld1q_f32_x4(w);
    Advance(w, kNr);
    TRIMTAB_UNROLL
    for (int v = 0; v < 4; ++v) b[v].v = row.val[v];
  }
  static inline void LoadRow(const float*& w, F (&b)[2]) {
    __asm__("ldp %q0, %q1, [%2], #64" : "=w"(b[0].v), "=w"(b[1].v), "+r"(w));
  }

  template <int kLane, int kRows, int kUsed>
  static inline void MultiplyLane(const float*& w, const float32x4_t (&a)[kRows],
                                  F (&sums)[kRows][kUsed]) {
    F b[kUsed];
    LoadRow(w, b);
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i) {
      TRIMTAB_UNROLL
      for (int v = 0; v < kUsed; ++v)
        sums[i][v].v = vfmaq_laneq_f32(sums[i][v].v, b[v].v, a[i], kLane);
    }
  }

  // Multiplies eight elements of every row by eight rows of w, `eights` > 0 times.
  template <int kRows, int kUsed>
  static inline void MultiplyBy8(size_t eights, const float* (&p)[kRows], const float*& w,
                                 F (&sums)[kRows][kUsed]) {
    for (; eights > 0; --eights) {
      float32x4_t low[kRows], high[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) LoadEightElements(p[i], &low[i], &high[i]);
      MultiplyLane<0>(w, low, sums);
      MultiplyLane<1>(w, low, sums);
      MultiplyLane<2>(w, low, sums);
      MultiplyLane<3>(w, low, sums);
      MultiplyLane<0>(w, high, sums);
      MultiplyLane<1>(w, high, sums);
      MultiplyLane<2>(w, high, sums);
      MultiplyLane<3>(w, high, sums);
    }
  }

  template <int kRows, int kUsed>
  static inline void Multiply(const GemmArgs<float>& args, const float* w,
                              F (&sums)[kRows][kUsed]) {
    const float* const* rows = args.a;
    for (size_t t = 0; t < args.taps; ++t, rows += kMr) {
      const float* p[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) p[i] = rows[i];
      if (args.k >= 8) MultiplyBy8(args.k / 8, p, w, sums);
      TRIMTAB_NO_UNROLL
      for (size_t left = args.k % 8; left > 0; --left) {
        F b[kUsed];
        LoadRow(w, b);
        TRIMTAB_UNROLL
        for (int i = 0; i < kRows; ++i) {
          const F x = Set(*p[i]++);
          TRIMTAB_UNROLL
          for (int v = 0; v < kUsed; ++v) sums[i][v] = Fma(x, b[v], sums[i][v]);
        }
      }
    }
  }
};

// Tiles of four rows and whole panels in assembly. A call of three rows writes its last row twice.
// The compiler's code spent 94 instructions per panel outside of the loop, this spends 38, or 22
// without limits: rows of sums are loaded and stored by one instruction each, and absent limits
// cost no instruction.
//
// The kernel supplies the inner loop: TRIMTAB_INNER_LOOP, text of gemm_lane_armv8_macros.h that
// multiplies 2^TRIMTAB_LOG2_UNROLL elements of each row %[n] > 0 times, from the pointers %[p0] to
// %[p3] and %[w], which it advances; TRIMTAB_POINTER_REGISTERS, its own pointer registers, each
// followed by a comma. TRIMTAB_NARROW_VECTORS is LaneTile's kNarrow: 2, because 24 columns are
// common, or 0 for a kernel that has neither narrow panels nor tiles of fewer rows.

// A macro's number as text.
#define TRIMTAB_STRINGIFY(number) TRIMTAB_STRINGIFY_(number)
#define TRIMTAB_STRINGIFY_(number) #number

// An operation on all sums.
#define TRIMTAB_EACH_SUM(op, x)                                                             \
  op(0, x) op(1, x) op(2, x) op(3, x) op(4, x) op(5, x) op(6, x) op(7, x) op(8, x) op(9, x) \
      op(10, x) op(11, x) op(12, x) op(13, x) op(14, x) op(15, x)
#define TRIMTAB_MAX(s, x) "fmax v" #s ".4s, v" #s ".4s, v" #x ".4s\n"
#define TRIMTAB_MIN(s, x) "fmin v" #s ".4s, v" #s ".4s, v" #x ".4s\n"
#define TRIMTAB_ADD_RESIDUAL(s0, s1, s2, s3, step)       \
  "ld1 {v16.4s, v17.4s, v18.4s, v19.4s}, [%[p0]], " step \
  "\n"                                                   \
  "fadd v" #s0 ".4s, v" #s0                              \
  ".4s, v16.4s\n"                                        \
  "fadd v" #s1 ".4s, v" #s1                              \
  ".4s, v17.4s\n"                                        \
  "fadd v" #s2 ".4s, v" #s2                              \
  ".4s, v18.4s\n"                                        \
  "fadd v" #s3 ".4s, v" #s3 ".4s, v19.4s\n"

template <>
__attribute__((noinline)) void Panels<LaneTile, 4, 4>(const GemmArgs<float>& args, size_t count) {
  if (LaneTile::Smaller(4, 4) == 0 && args.rows < 3) {  // at least three rows are written
    for (size_t begin = 0; begin < count * LaneTile::kNr; begin += LaneTile::kNr)
      LastColumns<LaneTile>(FromColumn(args, begin, begin * args.taps * args.k), LaneTile::kNr);
    return;
  }
  const size_t bias_bytes = args.bias != nullptr ? LaneTile::kNr * sizeof(float) : 0;
  const float* const all_bias = args.bias != nullptr ? args.bias : Zeros<LaneTile::kNr>();
  size_t tiles = args.rows > LaneTile::kMr ? args.rows / LaneTile::kMr : 1;
  // Rows of c and the residual are visited from the last to the first.
  const size_t last = args.rows < LaneTile::kMr ? args.rows - 1 : LaneTile::kMr - 1;
  float* c = args.c + last * args.c_stride;
  const float* residual = args.residual;
  if (residual != nullptr) residual += last * args.residual_stride;
  const ptrdiff_t up = -static_cast<ptrdiff_t>(args.c_stride * sizeof(float));
  const ptrdiff_t residual_up = -static_cast<ptrdiff_t>(args.residual_stride * sizeof(float));
  const ptrdiff_t first_up = args.rows < LaneTile::kMr ? 0 : up;
  // From the first row to the last row of the next panel.
  const ptrdiff_t down = static_cast<ptrdiff_t>(LaneTile::kNr * sizeof(float)) - 2 * up - first_up;
  // From past the last panel of a tile to the first panel of the next.
  const ptrdiff_t panel_bytes = static_cast<ptrdiff_t>(count * LaneTile::kNr * sizeof(float));
  // Operands at the begin and end of each tile, behind one pointer: GCC allows 30 operands.
  const struct {
    const float *w, *bias;
    size_t panels;
    ptrdiff_t c_step, residual_step;
  } tile = {args.w, all_bias, count, -LaneTile::kMr * up - panel_bytes,
            -LaneTile::kMr * residual_up - panel_bytes};
  uint32_t clamp_bits[2];  // compared as integers, which takes half the instructions
  __builtin_memcpy(&clamp_bits[0], &args.clamp_min, sizeof(float));
  __builtin_memcpy(&clamp_bits[1], &args.clamp_max, sizeof(float));
  const size_t limits = clamp_bits[1] != 0x7f800000 ? 2 : clamp_bits[0] != 0xff800000 ? 1 : 0;
  const float *w, *bias;
  const float *p0, *p1, *p2, *p3;
  const float* const* a = args.a;
  const float* const* tap;
  size_t panels, taps, n;
  __asm__ volatile(
      "12:\n"  // a tile
      "ldp %[w], %[bias], [%[tile]]\n"
      "ldr %[panels], [%[tile], #16]\n"
      "1:\n"  // a panel
      "ld1 {v0.4s, v1.4s, v2.4s, v3.4s}, [%[bias]]\n"
      "ld1 {v4.4s, v5.4s, v6.4s, v7.4s}, [%[bias]]\n"
      "ld1 {v8.4s, v9.4s, v10.4s, v11.4s}, [%[bias]]\n"
      "ld1 {v12.4s, v13.4s, v14.4s, v15.4s}, [%[bias]], %[bias_bytes]\n"
      "mov %[tap], %[a]\n"
      "mov %[taps], %[all_taps]\n"

      "2:\n"  // a tap
      "ldp %[p0], %[p1], [%[tap]], #16\n"
      "ldp %[p2], %[p3], [%[tap]], #16\n"
      "lsr %[n], %[k], #" TRIMTAB_STRINGIFY(TRIMTAB_LOG2_UNROLL) "\n"
      "cbz %[n], 4f\n"
      TRIMTAB_INNER_LOOP
      "cbz %[k_tail], 8f\n"
      "4:\n"
#if TRIMTAB_LOG2_UNROLL > 2
      "ubfx %[n], %[k], #3, #" TRIMTAB_STRINGIFY(TRIMTAB_LOG2_UNROLL) " - 3\n"
      "cbz %[n], 5f\n"
      "13:\n"
      "subs %[n], %[n], #1\n"
      TRIMTAB_DEPTH_8
      "b.ne 13b\n"
      "5:\n"
      "tbz %[k], #2, 6f\n"
      TRIMTAB_DEPTH_4
      "6:\n"
#endif
      "tbz %[k], #1, 7f\n"
      TRIMTAB_LOAD_NEXT_EVEN
      "ldr d16, [%[p0]], #8\n"
      "ldr d17, [%[p1]], #8\n"
      "ldr d18, [%[p2]], #8\n"
      "ldr d19, [%[p3]], #8\n"
      TRIMTAB_LOAD_NEXT_ODD TRIMTAB_FMLA_EVEN(16, 17, 18, 19, 0)
      TRIMTAB_FMLA_ODD(16, 17, 18, 19, 1)
      "7:\n"
      "tbz %[k], #0, 8f\n"
      TRIMTAB_LOAD_NEXT_EVEN
      "ldr s16, [%[p0]]\n"
      "ldr s17, [%[p1]]\n"
      "ldr s18, [%[p2]]\n"
      "ldr s19, [%[p3]]\n"
      TRIMTAB_FMLA_EVEN(16, 17, 18, 19, 0)
      "8:\n"
      "subs %[taps], %[taps], #1\n"
      "b.ne 2b\n"

      "cbz %[residual], 9f\n"
      "mov %[p0], %[residual]\n"
      "cmp %[first_up], #0\n"
      "csel %[n], xzr, %[residual_up], eq\n"
      TRIMTAB_ADD_RESIDUAL(12, 13, 14, 15, "%[n]")
      TRIMTAB_ADD_RESIDUAL(8, 9, 10, 11, "%[residual_up]")
      TRIMTAB_ADD_RESIDUAL(4, 5, 6, 7, "%[residual_up]")
      TRIMTAB_ADD_RESIDUAL(0, 1, 2, 3, "%[residual_up]")
      "add %[residual], %[residual], #64\n"
      "9:\n"
      "cbz %[limits], 10f\n"
      "ld2r {v16.4s, v17.4s}, [%[clamps]]\n"
      TRIMTAB_EACH_SUM(TRIMTAB_MAX, 16)
      "tbz %[limits], #1, 10f\n"
      TRIMTAB_EACH_SUM(TRIMTAB_MIN, 17)
      "10:\n"
      "st1 {v12.4s, v13.4s, v14.4s, v15.4s}, [%[c]], %[first_up]\n"
      "st1 {v8.4s, v9.4s, v10.4s, v11.4s}, [%[c]], %[up]\n"
      "st1 {v4.4s, v5.4s, v6.4s, v7.4s}, [%[c]], %[up]\n"
      "st1 {v0.4s, v1.4s, v2.4s, v3.4s}, [%[c]], %[down]\n"
      "subs %[panels], %[panels], #1\n"
      "b.ne 1b\n"

      "mov %[a], %[tap]\n"  // the pointers of the next tile follow
      "ldr %[n], [%[tile], #24]\n"
      "add %[c], %[c], %[n]\n"
      "cbz %[residual], 11f\n"
      "ldr %[n], [%[tile], #32]\n"
      "add %[residual], %[residual], %[n]\n"
      "11:\n"
      "subs %[tiles], %[tiles], #1\n"
      "b.ne 12b\n"
      : [a] "+r"(a), [residual] "+r"(residual), [c] "+r"(c), [tiles] "+r"(tiles), [w] "=&r"(w),
        [bias] "=&r"(bias), [panels] "=&r"(panels), [p0] "=&r"(p0), [p1] "=&r"(p1), [p2] "=&r"(p2),
        [p3] "=&r"(p3), [tap] "=&r"(tap), [taps] "=&r"(taps), [n] "=&r"(n)
      : [all_taps] "r"(args.taps), [k] "r"(args.k), [bias_bytes] "r"(bias_bytes), [up] "r"(up),
        [first_up] "r"(first_up), [down] "r"(down),
        [k_tail] "r"(args.k % (1 << TRIMTAB_LOG2_UNROLL)),
        [residual_up] "r"(residual_up), [limits] "r"(limits), [clamps] "r"(clamp_bits),
        [tile] "r"(&tile)
      : TRIMTAB_POINTER_REGISTERS "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10",
        "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
        "v27", "v28", "v29", "v30", "v31", "cc", "memory");
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_GEMM_LANE_ARMV8_H_
