// Times the GEMM micro-kernels on shapes of well-known networks, one thread, beside the FMA peak of
// the same instruction set measured in the same run.
//
//     ninja -C BUILD bench_gemm && BUILD/bench_gemm
//
// Rows of A lie one after another, as the pixels of a 1x1 convolution do. Columns are taken in
// blocks whose weights fit half of a 1 MB second-level cache. The best of many short runs counts: a
// busy machine only ever adds time.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/kernel_api.h"
#include "runtime/core/cpu.h"
#include "runtime/core/kernel_table.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace {

double Seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Best GFLOP/s of `f`, which does `flops` operations, over about 0.3 s.
template <typename F>
double Best(double flops, const F& f) {
  double best = 0;
  const double end = Seconds() + 0.3;
  for (int i = 0; i < 5 || Seconds() < end; ++i) {
    const double start = Seconds();
    f();
    const double rate = flops / (Seconds() - start) * 1e-9;
    best = rate > best ? rate : best;
  }
  return best;
}

// Twelve independent multiply-adds hide the latency of any core; the empty statement keeps the
// compiler from merging them.
constexpr int kSums = 12, kSteps = 20000;

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void Peak512() {
  __m512 sums[kSums], x = _mm512_set1_ps(0.5f);
  for (auto& sum : sums) sum = x;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kSums; ++j) {
      sums[j] = _mm512_fmadd_ps(x, sums[j], x);
      __asm__ volatile("" : "+v"(sums[j]));
    }
  }
}
__attribute__((target("avx2,fma"))) void Peak256() {
  __m256 sums[kSums], x = _mm256_set1_ps(0.5f);
  for (auto& sum : sums) sum = x;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kSums; ++j) {
      sums[j] = _mm256_fmadd_ps(x, sums[j], x);
      __asm__ volatile("" : "+x"(sums[j]));
    }
  }
}
#elif defined(__aarch64__)
void Peak128() {
  float32x4_t sums[kSums], x = vdupq_n_f32(0.5f);
  for (auto& sum : sums) sum = x;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kSums; ++j) {
      sums[j] = vfmaq_f32(x, sums[j], x);
      __asm__ volatile("" : "+w"(sums[j]));
    }
  }
}
#endif

// GFLOP/s of the instruction set that a kernel is written for; NaN where no loop is known.
double Peak(const trimtab::KernelRow& row) {
  const double flops = 2.0 * kSums * kSteps;
#if defined(__x86_64__)
  if (row.cpu_features & trimtab::kCpuAvx512f) return Best(flops * 16, Peak512);
  if (row.cpu_features & trimtab::kCpuAvx2) return Best(flops * 8, Peak256);
#elif defined(__aarch64__)
  if (row.nr != 0) return Best(flops * 4, Peak128);
#endif
  return NAN;
}

struct Shape {
  const char* network;
  size_t rows, columns, k;
};

constexpr Shape kShapes[] = {
    {"mobilenet_v1 conv2", 12544, 64, 32},         {"mobilenet_v1 conv4", 3136, 128, 128},
    {"mobilenet_v1 conv8", 196, 512, 512},         {"mobilenet_v1 conv14", 49, 1024, 1024},
    {"squeezenet fire2 squeeze", 3025, 16, 64},    {"squeezenet conv10", 169, 1000, 512},
    {"resnet18 3x3 as one depth", 196, 256, 2304}, {"classifier, one image", 1, 1000, 1024},
};

float* Allocate(size_t n) {
  void* p = nullptr;
  if (posix_memalign(&p, 64, n * sizeof(float)) != 0) abort();
  auto* result = static_cast<float*>(p);
  for (size_t i = 0; i < n; ++i) result[i] = static_cast<float>(i % 17) * 0.125f - 1.0f;
  return result;
}

double Rate(const trimtab::KernelRow& row, const Shape& shape) {
  const auto kernel = reinterpret_cast<trimtab::Kernel<GemmF32Args>>(row.function);
  const size_t mr = row.mr != 0 ? row.mr : 8, nr = row.nr != 0 ? row.nr : 8;
  const size_t panels = (shape.columns + nr - 1) / nr;
  float *a = Allocate(shape.rows * shape.k), *w = Allocate(panels * nr * shape.k);
  float *bias = Allocate(panels * nr), *c = Allocate(shape.rows * shape.columns);
  const size_t block = ((512 << 10) / (shape.k * sizeof(float) * nr) + 1) * nr;
  const double rate = Best(2.0 * shape.rows * shape.columns * shape.k, [&] {
    for (size_t column = 0; column < shape.columns; column += block) {
      for (size_t i = 0; i < shape.rows; i += mr) {
        const float* rows[kMaxTileRows];
        for (size_t j = 0; j < mr; ++j) rows[j] = a + (i + j < shape.rows ? i + j : i) * shape.k;
        kernel({rows, w + column * shape.k, bias + column, nullptr, c + i * shape.columns + column,
                1, shape.k, shape.rows - i < mr ? shape.rows - i : mr,
                shape.columns - column < block ? shape.columns - column : block, shape.columns, 0,
                -INFINITY, INFINITY, static_cast<uint16_t>(mr), static_cast<uint16_t>(nr)});
      }
    }
  });
  free(a);
  free(w);
  free(bias);
  free(c);
  return rate;
}

}  // namespace

int main() {
  for (size_t i = 0; i < trimtab::kKernelTableSize; ++i) {
    const trimtab::KernelRow& row = trimtab::kKernelTable[i];
    if (row.family != trimtab::FamilyHash("gemm_f32") ||
        (row.cpu_features & ~trimtab::CpuFeatures()) != 0)
      continue;
    double peak = Peak(row);
    printf("%s: peak %.1f GFLOP/s\n", row.text, peak);
    for (const Shape& shape : kShapes) {
      const double rate = Rate(row, shape);
      printf("  %-26s %5zu x %4zu x %4zu  %7.1f GFLOP/s  %4.0f %%\n", shape.network, shape.rows,
             shape.columns, shape.k, rate, 100.0 * rate / peak);
    }
  }
  return 0;
}
