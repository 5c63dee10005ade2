// Whole tiles of the f16 GEMM in assembly: neighboring panels of 8 rows, or of 5 to 7, whose last
// row is then written repeatedly. Besides the multiply-adds, the compiler's code took 140
// instructions per panel; this takes 40, and 18 more if results have a lower limit. Storing partial
// sums takes 24.
//
// v0-v7 hold eight elements of each row of a, v8-v11 and v12-v15 two rows of w each, of which one
// pair is loaded while the other is multiplied, and v16-v31 the sums.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_F16_PANELS_H_
#define TRIMTAB_KERNELS_ARM_GEMM_F16_PANELS_H_

#include "kernels/generic/gemm.h"

namespace {

// clang-format off
#define TRIMTAB_STRINGIFY(number) TRIMTAB_STRINGIFY_(number)
#define TRIMTAB_STRINGIFY_(number) #number

// An operation on the sums of every row: op(first, second, row).
#define TRIMTAB_EACH_ROW(op) TRIMTAB_EACH_BUT_LAST(op) op(30, 31, 7)
#define TRIMTAB_EACH_BUT_LAST(op)                                       \
  op(16, 17, 0) op(18, 19, 1) op(20, 21, 2) op(22, 23, 3) op(24, 25, 4) \
  op(26, 27, 5) op(28, 29, 6)

// Element `lane` of every row of a by a row of w in b0, b1.
#define TRIMTAB_BY_LANE(op, s, b, a, lane) \
  op " v" #s ".8h, v" #b ".8h, v" #a ".h[" #lane "]\n"
#define TRIMTAB_PRODUCTS(op, b0, b1, lane)                                  \
  TRIMTAB_BY_LANE(op, 16, b0, 0, lane) TRIMTAB_BY_LANE(op, 17, b1, 0, lane) \
  TRIMTAB_BY_LANE(op, 18, b0, 1, lane) TRIMTAB_BY_LANE(op, 19, b1, 1, lane) \
  TRIMTAB_BY_LANE(op, 20, b0, 2, lane) TRIMTAB_BY_LANE(op, 21, b1, 2, lane) \
  TRIMTAB_BY_LANE(op, 22, b0, 3, lane) TRIMTAB_BY_LANE(op, 23, b1, 3, lane) \
  TRIMTAB_BY_LANE(op, 24, b0, 4, lane) TRIMTAB_BY_LANE(op, 25, b1, 4, lane) \
  TRIMTAB_BY_LANE(op, 26, b0, 5, lane) TRIMTAB_BY_LANE(op, 27, b1, 5, lane) \
  TRIMTAB_BY_LANE(op, 28, b0, 6, lane) TRIMTAB_BY_LANE(op, 29, b1, 6, lane) \
  TRIMTAB_BY_LANE(op, 30, b0, 7, lane) TRIMTAB_BY_LANE(op, 31, b1, 7, lane)
#define TRIMTAB_ADD_PRODUCTS(b0, b1, lane) TRIMTAB_PRODUCTS("fmla", b0, b1, lane)

#define TRIMTAB_LOAD_TAP                                                \
  "ldp %[p0], %[p1], [%[tap]], #16\n ldp %[p2], %[p3], [%[tap]], #16\n" \
  "ldp %[p4], %[p5], [%[tap]], #16\n ldp %[p6], %[p7], [%[tap]], #16\n"
#define TRIMTAB_LOAD_EVEN "ld1 {v8.8h, v9.8h, v10.8h, v11.8h}, [%[w]], #64\n"
#define TRIMTAB_LOAD_ODD "ld1 {v12.8h, v13.8h, v14.8h, v15.8h}, [%[w]], #64\n"
// Loads elements of every row of a, as many as register q, d, s or h holds.
#define TRIMTAB_ROWS_OF_A(size, bytes)                                        \
  "ldr " size "0, [%[p0]], #" bytes "\n ldr " size "1, [%[p1]], #" bytes "\n" \
  "ldr " size "2, [%[p2]], #" bytes "\n ldr " size "3, [%[p3]], #" bytes "\n" \
  "ldr " size "4, [%[p4]], #" bytes "\n ldr " size "5, [%[p5]], #" bytes "\n" \
  "ldr " size "6, [%[p6]], #" bytes "\n ldr " size "7, [%[p7]], #" bytes "\n"

#define TRIMTAB_LOAD_BIAS(s0, s1, row) "ld1 {v" #s0 ".8h, v" #s1 ".8h}, [%[bias]]\n"
#define TRIMTAB_MAX(s0, s1, row) \
  "fmax v" #s0 ".8h, v" #s0 ".8h, v0.8h\n fmax v" #s1 ".8h, v" #s1 ".8h, v0.8h\n"
#define TRIMTAB_MIN(s0, s1, row) \
  "fmin v" #s0 ".8h, v" #s0 ".8h, v1.8h\n fmin v" #s1 ".8h, v" #s1 ".8h, v1.8h\n"
#define TRIMTAB_ADD(s, x) "fadd v" #s ".8h, v" #s ".8h, v" #x ".8h\n"
#define TRIMTAB_ADD_RESIDUAL(s0, s1, step) \
  "ld1 {v0.8h, v1.8h}, [%[residual]], " step "\n" TRIMTAB_ADD(s0, 0) TRIMTAB_ADD(s1, 1)
#define TRIMTAB_STORE(s0, s1, step) "st1 {v" #s0 ".8h, v" #s1 ".8h}, [%[c]], " step "\n"
// Rows from the last to the first. %[p0] to %[p2]: steps past rows that may be absent.
#define TRIMTAB_EACH_ROW_UPWARDS(op)                                              \
  op(30, 31, "%[p0]") op(28, 29, "%[p1]") op(26, 27, "%[p2]") op(24, 25, "%[p3]") \
  op(22, 23, "%[p3]") op(20, 21, "%[p3]") op(18, 19, "%[p3]") op(16, 17, "%[p4]")
#define TRIMTAB_LOAD_STEPS(offset)                                      \
  "ldp %[p0], %[p1], [%[frame], #" TRIMTAB_STRINGIFY(offset) "]\n"      \
  "ldp %[p2], %[p3], [%[frame], #" TRIMTAB_STRINGIFY(offset) " + 16]\n" \
  "ldr %[p4], [%[frame], #" TRIMTAB_STRINGIFY(offset) " + 32]\n"

// Partial sums, at %[n].
#define TRIMTAB_ADD_PARTIAL_SUMS_4(s0, s1, s2, s3)  \
  "ld1 {v0.8h, v1.8h, v2.8h, v3.8h}, [%[n]], #64\n" \
  TRIMTAB_ADD(s0, 0) TRIMTAB_ADD(s1, 1) TRIMTAB_ADD(s2, 2) TRIMTAB_ADD(s3, 3)
#define TRIMTAB_ADD_PARTIAL_SUMS                                                        \
  "add %[n], %[frame], #" TRIMTAB_STRINGIFY(TRIMTAB_PARTIAL_OFFSET) "\n"                \
  TRIMTAB_ADD_PARTIAL_SUMS_4(16, 17, 18, 19) TRIMTAB_ADD_PARTIAL_SUMS_4(20, 21, 22, 23) \
  TRIMTAB_ADD_PARTIAL_SUMS_4(24, 25, 26, 27) TRIMTAB_ADD_PARTIAL_SUMS_4(28, 29, 30, 31)
#define TRIMTAB_STORE_PARTIAL_SUMS                                       \
  "add %[n], %[frame], #" TRIMTAB_STRINGIFY(TRIMTAB_PARTIAL_OFFSET) "\n" \
  "st1 {v16.8h, v17.8h, v18.8h, v19.8h}, [%[n]], #64\n"                  \
  "st1 {v20.8h, v21.8h, v22.8h, v23.8h}, [%[n]], #64\n"                  \
  "st1 {v24.8h, v25.8h, v26.8h, v27.8h}, [%[n]], #64\n"                  \
  "st1 {v28.8h, v29.8h, v30.8h, v31.8h}, [%[n]], #64\n"
// clang-format on

// Bytes from the last row of a tile to its other rows, in the order they are visited, and finally
// to its position in the next panel.
struct RowSteps {
  ptrdiff_t from7, from6, from5, up, down;

  void Set(size_t rows, size_t stride) {
    up = -static_cast<ptrdiff_t>(stride * sizeof(Half));
    from7 = rows > 7 ? up : 0;
    from6 = rows > 6 ? up : 0;
    from5 = rows > 5 ? up : 0;
    down =
        static_cast<ptrdiff_t>(F16Tile::kNr * sizeof(Half)) - static_cast<ptrdiff_t>(rows - 1) * up;
  }
};

// Operands of the assembly in memory.
struct Frame {
  RowSteps c, residual;
  const Half *w, *bias;
  size_t panels;
  ptrdiff_t next_c, next_residual;  // from past the last panel of a tile to the next tile
  alignas(16) Half low[8], high[8];
  Half partial[F16Tile::kMr * F16Tile::kNr];
};
#define TRIMTAB_RESIDUAL_OFFSET 40
#define TRIMTAB_TILE_OFFSET 80
#define TRIMTAB_LIMITS_OFFSET 128
#define TRIMTAB_PARTIAL_OFFSET 160
#define TRIMTAB_BLOCK_LENGTH 8  // no operand: GCC allows 30, and counts read-write operands twice
static_assert(offsetof(Frame, residual) == TRIMTAB_RESIDUAL_OFFSET &&
                  offsetof(Frame, w) == TRIMTAB_TILE_OFFSET &&
                  offsetof(Frame, low) == TRIMTAB_LIMITS_OFFSET &&
                  offsetof(Frame, partial) == TRIMTAB_PARTIAL_OFFSET &&
                  F16Tile::kBlock == TRIMTAB_BLOCK_LENGTH,
              "as the assembly has them");

template <>
__attribute__((noinline)) void Panels<F16Tile, 8, 2>(const GemmArgs<Half>& args, size_t count) {
  const size_t rows = args.rows < 8 ? args.rows : 8;
  const ptrdiff_t panel_bytes = static_cast<ptrdiff_t>(count * F16Tile::kNr * sizeof(Half));
  constexpr float kInfinity = __builtin_inff();
  Frame frame;
  frame.c.Set(rows, args.c_stride);
  frame.residual.Set(rows, args.residual_stride);
  frame.w = args.w;
  frame.bias = args.bias;
  if (args.bias == nullptr && args.k < 8) frame.bias = Zeros<F16Tile::kNr>();
  frame.panels = count;
  frame.next_c = -8 * frame.c.up - panel_bytes;
  frame.next_residual = -8 * frame.residual.up - panel_bytes;
  Store(frame.low, ::Set(args.clamp_min));
  Store(frame.high, ::Set(args.clamp_max));
  const size_t limits = args.clamp_max < kInfinity ? 2 : args.clamp_min > -kInfinity ? 1 : 0;
  const size_t bias_bytes = args.bias != nullptr ? F16Tile::kNr * sizeof(Half) : 0;
  size_t tiles = args.rows < 8 ? 1 : args.rows / 8;
  Half* c = args.c + (rows - 1) * args.c_stride;
  const Half* residual = args.residual;
  if (residual != nullptr) residual += (rows - 1) * args.residual_stride;
  const Half* const* a = args.a;
  const Half* const* tap;
  const Half *w, *bias, *p0, *p1, *p2, *p3, *p4, *p5, *p6, *p7;
  size_t panels, taps, n, room, has_partial;
  // clang-format off
  __asm__ volatile(
      "1:\n"  // a tile
      "ldp %[w], %[bias], [%[frame], #" TRIMTAB_STRINGIFY(TRIMTAB_TILE_OFFSET) "]\n"
      "ldr %[panels], [%[frame], #" TRIMTAB_STRINGIFY(TRIMTAB_TILE_OFFSET) " + 16]\n"
      "2:\n"  // a panel
      "mov %[tap], %[a]\n"
      "mov %[taps], %[all_taps]\n"
      "mov %[room], #" TRIMTAB_STRINGIFY(TRIMTAB_BLOCK_LENGTH) "\n"
      "mov %[has_partial], xzr\n"
      "cbz %[bias], 17f\n"
      TRIMTAB_EACH_BUT_LAST(TRIMTAB_LOAD_BIAS)
      "ld1 {v30.8h, v31.8h}, [%[bias]], %[bias_bytes]\n"

      "3:\n"  // a tap
      TRIMTAB_LOAD_TAP
      "mov %[n], %[eights]\n"
      "cbz %[n], 8f\n"
      "subs %[room], %[room], %[n]\n"
      "b.hs 4f\n"
      "adds %[n], %[n], %[room]\n"  // elements that fit into the block
      "b.eq 6f\n"
      "4:\n"
      TRIMTAB_LOAD_EVEN
      TRIMTAB_ROWS_OF_A("q", "16")
      "subs %[n], %[n], #1\n"
      TRIMTAB_LOAD_ODD TRIMTAB_ADD_PRODUCTS(8, 9, 0)
      "5:\n"
      TRIMTAB_ADD_PRODUCTS(10, 11, 1)
      TRIMTAB_LOAD_EVEN TRIMTAB_ADD_PRODUCTS(12, 13, 2) TRIMTAB_ADD_PRODUCTS(14, 15, 3)
      TRIMTAB_LOAD_ODD TRIMTAB_ADD_PRODUCTS(8, 9, 4) TRIMTAB_ADD_PRODUCTS(10, 11, 5)
      TRIMTAB_ADD_PRODUCTS(12, 13, 6) TRIMTAB_ADD_PRODUCTS(14, 15, 7)
      "b.ne 4b\n"
      "tbz %[room], #63, 8f\n"

      "6:\n"  // the block is full: stores partial sums and begins new ones
      "cbz %[has_partial], 7f\n"
      TRIMTAB_ADD_PARTIAL_SUMS
      "7:\n"
      TRIMTAB_STORE_PARTIAL_SUMS
      "neg %[n], %[room]\n"  // the remainder of the tap, or as much of it as fits
      "mov %[has_partial], #" TRIMTAB_STRINGIFY(TRIMTAB_BLOCK_LENGTH) "\n"
      "adds %[room], %[room], %[has_partial]\n"
      "csel %[n], %[n], %[has_partial], pl\n"
      "16:\n"
      TRIMTAB_LOAD_EVEN
      TRIMTAB_ROWS_OF_A("q", "16")
      "subs %[n], %[n], #1\n"
      TRIMTAB_LOAD_ODD TRIMTAB_PRODUCTS("fmul", 8, 9, 0)
      "b 5b\n"
      "17:\n"  // without a bias the first products begin the sums, too
      TRIMTAB_LOAD_TAP
      "mov %[n], %[eights]\n"
      "subs %[room], %[room], %[n]\n"
      "b.hs 16b\n"
      "add %[n], %[n], %[room]\n"
      "b 16b\n"

      "8:\n"  // the remainder of a tap
      "cbz %[left], 11f\n"
      "tbz %[left], #2, 9f\n"
      TRIMTAB_LOAD_EVEN
      TRIMTAB_ROWS_OF_A("d", "8")
      TRIMTAB_LOAD_ODD TRIMTAB_ADD_PRODUCTS(8, 9, 0) TRIMTAB_ADD_PRODUCTS(10, 11, 1)
      TRIMTAB_ADD_PRODUCTS(12, 13, 2) TRIMTAB_ADD_PRODUCTS(14, 15, 3)
      "9:\n"
      "tbz %[left], #1, 10f\n"
      TRIMTAB_LOAD_EVEN
      TRIMTAB_ROWS_OF_A("s", "4")
      TRIMTAB_ADD_PRODUCTS(8, 9, 0) TRIMTAB_ADD_PRODUCTS(10, 11, 1)
      "10:\n"
      "tbz %[left], #0, 11f\n"
      "ld1 {v8.8h, v9.8h}, [%[w]], #32\n"
      TRIMTAB_ROWS_OF_A("h", "2")
      TRIMTAB_ADD_PRODUCTS(8, 9, 0)
      "11:\n"
      "subs %[taps], %[taps], #1\n"
      "b.ne 3b\n"

      "cbz %[has_partial], 12f\n"
      TRIMTAB_ADD_PARTIAL_SUMS
      "12:\n"
      "cbz %[residual], 13f\n"
      TRIMTAB_LOAD_STEPS(TRIMTAB_RESIDUAL_OFFSET)
      TRIMTAB_EACH_ROW_UPWARDS(TRIMTAB_ADD_RESIDUAL)
      "13:\n"
      "cbz %[limits], 14f\n"
      "ldp q0, q1, [%[frame], #" TRIMTAB_STRINGIFY(TRIMTAB_LIMITS_OFFSET) "]\n"
      TRIMTAB_EACH_ROW(TRIMTAB_MAX)
      "tbz %[limits], #1, 14f\n"
      TRIMTAB_EACH_ROW(TRIMTAB_MIN)
      "14:\n"
      TRIMTAB_LOAD_STEPS(0)
      TRIMTAB_EACH_ROW_UPWARDS(TRIMTAB_STORE)
      "subs %[panels], %[panels], #1\n"
      "b.ne 2b\n"

      "mov %[a], %[tap]\n"  // the pointers of the next tile follow
      "ldp %[p0], %[p1], [%[frame], #" TRIMTAB_STRINGIFY(TRIMTAB_TILE_OFFSET) " + 24]\n"
      "add %[c], %[c], %[p0]\n"
      "cbz %[residual], 15f\n"
      "add %[residual], %[residual], %[p1]\n"
      "15:\n"
      "subs %[tiles], %[tiles], #1\n"
      "b.ne 1b\n"
      : [a] "+r"(a), [residual] "+r"(residual), [c] "+r"(c), [tiles] "+r"(tiles), [w] "=&r"(w),
        [bias] "=&r"(bias), [panels] "=&r"(panels), [p0] "=&r"(p0), [p1] "=&r"(p1),
        [p2] "=&r"(p2), [p3] "=&r"(p3), [p4] "=&r"(p4), [p5] "=&r"(p5), [p6] "=&r"(p6),
        [p7] "=&r"(p7), [tap] "=&r"(tap), [taps] "=&r"(taps), [n] "=&r"(n), [room] "=&r"(room),
        [has_partial] "=&r"(has_partial)
      : [frame] "r"(&frame), [all_taps] "r"(args.taps), [eights] "r"(args.k / 8), [left] "r"(args.k % 8),
        [bias_bytes] "r"(bias_bytes), [limits] "r"(limits)
      : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
        "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
        "v27", "v28", "v29", "v30", "v31", "cc", "memory");
  // clang-format on
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_GEMM_F16_PANELS_H_
