// Checks of int8 GEMM kernels.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_I8_GEMM_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_I8_GEMM_H_

#include "tests/kernels/check_i8.h"

namespace check {

class I8GemmCheck : I8Check {
 public:
  void Gemm(void (*kernel)(const GemmArgs<int8_t>&), size_t mr, size_t nr, size_t kr,
            Result* result) {
    const size_t rows[] = {1, 2, mr - 1, mr, mr + 1, 2 * mr + 1};
    const size_t columns[] = {1, nr - 1, nr, nr + 1, 2 * nr + 3, 3 * nr};
    size_t turn = 0;
    for (size_t r : rows) {
      for (size_t n : columns) {
        const size_t all_steps[] = {1, 2, 3, 4, 5, 7, 12};
        for (size_t steps : all_steps) {
          if (r > 0 && n > 0)
            GemmCase(kernel, {mr, nr, kr}, r, n, 1 + turn++ % 4, steps * kr, result);
        }
      }
    }
    // Kernels that widen rows do it in parts of a deep one.
    const size_t depths[] = {130, 300};
    for (size_t k : depths)
      GemmCase(kernel, {mr, nr, kr}, mr + 1, nr + 3, 1 + turn++ % 4, (k + kr - 1) / kr * kr,
               result);
  }

  void PairedGemm(void (*kernel)(const GemmArgs<int8_t>&), size_t mr, size_t nr, Result* result) {
    const size_t rows[] = {1, 2, mr - 1, mr, mr + 1, 2 * mr + 1};
    const size_t columns[] = {1, nr - 1, nr, nr + 1, 2 * nr + 3, 3 * nr};
    size_t turn = 0;
    for (size_t r : rows) {
      for (size_t n : columns) {
        const size_t all_depths[] = {16, 17, 20, 39, 64};
        for (size_t k : all_depths)
          PairedCase(kernel, {mr, nr, 4}, r, n, 1 + turn++ % 4, k, result);
      }
    }
  }

 private:
  struct Packing {
    size_t mr, nr, kr;
  };

  void GemmCase(void (*kernel)(const GemmArgs<int8_t>&), const Packing& t, size_t rows,
                size_t columns, size_t taps, size_t k, Result* result) {
    const size_t panels = (columns + t.nr - 1) / t.nr, depth = taps * k;
    int8_t* w = w_.Take(panels * depth * t.nr);
    FillExtremes(w, panels * depth * t.nr, t.kr == 16 ? -127 : -128);
    Products(kernel, t, rows, columns, taps, k, w, 0, result, [&](size_t i, size_t j) {
      int64_t sum = 0;
      for (size_t d = 0; d < depth; ++d) {
        const size_t at = (d / t.kr * t.nr + j % t.nr) * t.kr + d % t.kr;
        sum += Element(t, taps, k, i, d) * w[j / t.nr * depth * t.nr + at];
      }
      return sum;
    });
  }

  // Random steps: the expected result follows from their definition.
  void PairedCase(void (*kernel)(const GemmArgs<int8_t>&), const Packing& t, size_t rows,
                  size_t columns, size_t taps, size_t k, Result* result) {
    const size_t panels = (columns + t.nr - 1) / t.nr, all = taps + 2;
    const size_t bytes = sizeof(PairedStep) + kPairedDepth * t.nr;
    int8_t* w = w_.Take(panels * all * bytes);
    for (size_t i = 0; i < panels * all; ++i) {
      const size_t tap = i % all < taps ? i % all : taps - 1;
      PairedStep step = {};
      step.base = static_cast<uint32_t>(tap * k + (i % all < taps ? 0 : k - kPairedDepth));
      step.count = static_cast<uint32_t>(all - i / all % 2);
      for (uint8_t& index : step.index) index = static_cast<uint8_t>(random_.Below(kPairedDepth));
      memcpy(w + i * bytes, &step, sizeof(step));
      FillPairs(w + i * bytes + sizeof(step), kPairedDepth * t.nr);
    }
    Products(kernel, t, rows, columns, taps, k, w, all, result, [&](size_t i, size_t j) {
      int64_t sum = 0;
      const int8_t* at = w + j / t.nr * all * bytes;
      for (size_t left = all - j / t.nr % 2; left > 0; --left, at += bytes) {
        PairedStep step;
        memcpy(&step, at, sizeof(step));
        for (size_t p = 0; p < kPairedDepth; ++p) {
          const int x = Element(t, taps, k, i, step.base + step.index[p]) + 128;
          sum += x * at[sizeof(step) + (p / 4 * t.nr + j % t.nr) * 4 + p % 4];
        }
      }
      return sum;
    });
  }

  // Fills weights with the largest legal pairs.
  void FillPairs(int8_t* p, size_t n) {
    for (size_t i = 0; i < n; i += 2) {
      const int first = static_cast<int>(random_.Below(256)) - 128;
      int least = -128, most = 127;
      if (first < 0) least = -128 - first;
      if (first > 0) most = 128 - first < 127 ? 128 - first : 127;
      const int ends[] = {least, most, least + static_cast<int>(random_.Below(most - least + 1))};
      p[i] = static_cast<int8_t>(first);
      p[i + 1] = static_cast<int8_t>(ends[random_.Below(3)]);
    }
  }

  // Element d of the depth of row i.
  int Element(const Packing& t, size_t taps, size_t k, size_t i, size_t d) const {
    return pointers_[(i / t.mr * taps + d / k) * t.mr + i % t.mr][d % k];
  }

  // `sum(i, j)`: sum of the products of row i and column j.
  template <typename Sum>
  void Products(void (*kernel)(const GemmArgs<int8_t>&), const Packing& t, size_t rows,
                size_t columns, size_t taps, size_t k, const int8_t* w, size_t steps,
                Result* result, const Sum& sum_of) {
    ++result->cases;
    const size_t panels = (columns + t.nr - 1) / t.nr, depth = taps * k;
    auto* bias = reinterpret_cast<int32_t*>(bias_.Take(panels * t.nr));
    float* scale = scale_.Take(panels * t.nr);
    const float* slope = slopes_.Take(panels * t.nr, &random_);
    for (size_t j = 0; j < panels * t.nr; ++j) {
      bias[j] = static_cast<int32_t>(random_.Below(20000)) - 10000;
      scale[j] = Scale(depth);
    }
    const size_t pool = (rows + t.mr - 1) / t.mr * taps * t.mr;
    int8_t* a = x_.Take(pool * k);
    FillExtremes(a, pool * k, -128);
    for (size_t i = 0; i < pool; ++i)
      pointers_[i] = a + (i == 0 ? pool - 1 : random_.Below(pool)) * k;
    const size_t stride = columns + random_.Below(3);
    int8_t* c = y_.TakeOutput((rows - 1) * stride + columns);
    const bool clamp = random_.Below(2) == 0;
    const int low = clamp ? -20 : -128, high = clamp ? 99 : 127;
    const int zero_point = static_cast<int>(random_.Below(256)) - 128;
    GemmArgs<int8_t> args = {pointers_,
                             w,
                             bias,
                             scale,
                             slope,
                             c,
                             nullptr,
                             taps,
                             k,
                             rows,
                             columns,
                             stride,
                             zero_point,
                             low,
                             high,
                             static_cast<uint16_t>(t.mr),
                             static_cast<uint16_t>(t.nr),
                             static_cast<uint16_t>(t.kr),
                             scratch_.Take(t.mr * depth),
                             steps};
    kernel(args);
    float* const dequantized = floats_.TakeOutput((rows - 1) * stride + columns);
    args.c = nullptr;
    args.dequantized = dequantized;
    kernel(args);
    char place[120];
    snprintf(place, sizeof(place), "tile %zux%zuc%zu, rows %zu, columns %zu, taps %zu, k %zu", t.mr,
             t.nr, t.kr, rows, columns, taps, k);
    y_.CheckUntouched(c, rows, columns, stride, result, place);
    floats_.CheckUntouched(dequantized, rows, columns, stride, result, place);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        const int64_t sum = bias[j] + sum_of(i, j);
        result->Compare(c[i * stride + j],
                        Requantized(sum, scale[j], zero_point, low, high, slopes_[j]), 0, place);
        const float real = static_cast<float>(static_cast<int32_t>(sum)) * scale[j];
        result->Compare(dequantized[i * stride + j], real, 0, place);
      }
    }
  }
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_I8_GEMM_H_
