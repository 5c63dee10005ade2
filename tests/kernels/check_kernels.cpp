// Checks every micro-kernel of this binary that this CPU can run against float64 references:
// values, tails, strides, taps, empty sizes, and that nothing is read or written beyond what the
// contract in kernels/kernel_api.h names.
//
// Prints a line per kernel; exit code 1 when one is wrong or has no check.
#include "runtime/core/cpu.h"
#include "runtime/core/kernel_table.h"
#include "tests/kernels/check_elementwise.h"
#include "tests/kernels/check_products.h"
#include "tests/kernels/check_strassen.h"
#include "tests/kernels/check_winograd.h"

namespace check {
namespace {

using trimtab::FamilyHash;
using trimtab::KernelRow;

template <typename Args>
trimtab::Kernel<Args> As(const KernelRow& row) {
  return reinterpret_cast<trimtab::Kernel<Args>>(row.function);
}

// A portable kernel takes any tile: it is tried with those of the others and with odd ones.
bool CheckProducts(const KernelRow& row, Result* result) {
  static const size_t kTiles[][2] = {{8, 8}, {4, 8}, {6, 16}, {14, 32}, {3, 5}, {1, 1}};
  const bool any_tile = row.nr == 0;
  if (row.family == FamilyHash("gemm_f32")) {
    GemmCheck check;
    if (!any_tile) check.Run(As<GemmF32Args>(row), row.mr, row.nr, result);
    for (const auto& tile : kTiles) {
      if (any_tile) check.Run(As<GemmF32Args>(row), tile[0], tile[1], result);
    }
    return true;
  }
  if (row.family == FamilyHash("depthwise_f32")) {
    DepthwiseCheck check;
    if (!any_tile) check.Run(As<DepthwiseF32Args>(row), row.nr, result);
    for (const auto& tile : kTiles) {
      if (any_tile && tile[1] > 1) check.Run(As<DepthwiseF32Args>(row), tile[1], result);
    }
    return true;
  }
  if (row.family == FamilyHash("max_pool_f32") || row.family == FamilyHash("average_pool_f32")) {
    PoolCheck check;
    check.Run(As<PoolF32Args>(row), row.family == FamilyHash("average_pool_f32"), result);
    return true;
  }
  return false;
}

bool CheckWinograd(const KernelRow& row, Result* result) {
  const bool input = row.family == FamilyHash("winograd_input_f32");
  if (!input && row.family != FamilyHash("winograd_output_f32")) return false;
  for (const WinogradTile& tile : kWinogradTiles) {
    if (row.nr != 0 && row.nr != tile.size) continue;
    WinogradInputCheck input_check;
    WinogradOutputCheck output_check;
    if (input) input_check.Run(As<WinogradInputF32Args>(row), tile.size, result);
    if (!input && (row.nr == 0 || row.mr == tile.tile))
      output_check.Run(As<WinogradOutputF32Args>(row), tile, result);
  }
  return true;
}

bool CheckStrassen(const KernelRow& row, Result* result) {
  StrassenSumsCheck sums;
  StrassenResultsCheck results;
  if (row.family == FamilyHash("strassen_sums_f32")) {
    sums.Run(As<StrassenSumsF32Args>(row), result);
    return true;
  }
  if (row.family != FamilyHash("strassen_results_f32")) return false;
  results.Run(As<StrassenResultsF32Args>(row), result);
  return true;
}

bool CheckElementwise(const KernelRow& row, Result* result) {
  bool known = false;
  for (const UnaryFunction& f : kUnaryFunctions) {
    if (row.family != FamilyHash(f.family)) continue;
    UnaryCheck check;
    check.Run(As<UnaryF32Args>(row), f, result);
    known = true;
  }
  for (const BinaryFunction& f : kBinaryFunctions) {
    if (row.family != FamilyHash(f.family)) continue;
    BinaryCheck check;
    check.Run(As<BinaryF32Args>(row), f, result);
    known = true;
  }
  if (row.family == FamilyHash("softmax_f32") || row.family == FamilyHash("log_softmax_f32")) {
    SoftmaxCheck check;
    check.Run(As<SoftmaxF32Args>(row), row.family == FamilyHash("log_softmax_f32"), result);
    known = true;
  }
  return known;
}

int CheckAll() {
  int checked = 0, skipped = 0, failed = 0;
  for (size_t i = 0; i < trimtab::kKernelTableSize; ++i) {
    const KernelRow& row = trimtab::kKernelTable[i];
    // Before the checks, so that a crash has a name.
    printf("%-28s %08x ", row.text, static_cast<unsigned>(row.name));
    fflush(stdout);
    if ((row.cpu_features & ~trimtab::CpuFeatures()) != 0) {
      printf("skipped: this CPU lacks its instructions\n");
      ++skipped;
      continue;
    }
    Result result;
    if (!CheckProducts(row, &result) && !CheckWinograd(row, &result) &&
        !CheckStrassen(row, &result) && !CheckElementwise(row, &result)) {
      printf("FAILED: there is no check for its family\n");
      ++failed;
    } else if (result.failures > 0) {
      printf("FAILED: %d errors in %d cases; %s\n", result.failures, result.cases, result.first);
      ++failed;
    } else {
      printf("ok: %d cases, largest error %.2f of the allowed\n", result.cases, result.worst);
      ++checked;
    }
  }
  printf("%d kernels right, %d wrong, %d skipped\n", checked, failed, skipped);
  return failed == 0 && checked > 0 ? 0 : 1;
}

}  // namespace
}  // namespace check

int main() { return check::CheckAll(); }
