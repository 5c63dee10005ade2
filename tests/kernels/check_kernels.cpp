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

// Of a family for floats; kernels for other elements need checks of their own.
bool Of(const KernelRow& row, const char* family) {
  return row.family == FamilyHash<float>(trimtab::NameHash(family));
}

// A portable kernel takes any tile: it is tried with those of the others and with odd ones.
bool CheckProducts(const KernelRow& row, Result* result) {
  static const size_t kTiles[][2] = {{8, 8}, {4, 8}, {6, 16}, {14, 32}, {3, 5}, {1, 1}};
  const bool any_tile = row.nr == 0;
  if (Of(row, "gemm")) {
    GemmCheck check;
    if (!any_tile) check.Run(As<GemmArgs<float>>(row), row.mr, row.nr, result);
    for (const auto& tile : kTiles) {
      if (any_tile) check.Run(As<GemmArgs<float>>(row), tile[0], tile[1], result);
    }
    return true;
  }
  if (Of(row, "depthwise")) {
    DepthwiseCheck check;
    if (!any_tile) check.Run(As<DepthwiseArgs<float>>(row), row.nr, result);
    for (const auto& tile : kTiles) {
      if (any_tile && tile[1] > 1) check.Run(As<DepthwiseArgs<float>>(row), tile[1], result);
    }
    return true;
  }
  if (Of(row, "max_pool") || Of(row, "average_pool")) {
    PoolCheck check;
    check.Run(As<PoolArgs<float>>(row), Of(row, "average_pool"), result);
    return true;
  }
  return false;
}

bool CheckWinograd(const KernelRow& row, Result* result) {
  const bool input = Of(row, "winograd_input"), weights = Of(row, "winograd_weights");
  if (!input && !weights && !Of(row, "winograd_output")) return false;
  for (const WinogradTile& tile : kWinogradTiles) {
    if (row.nr != 0 && row.nr != tile.size) continue;
    WinogradInputCheck input_check;
    WinogradWeightsCheck weights_check;
    WinogradOutputCheck output_check;
    if (input) input_check.Run(As<WinogradInputArgs<float>>(row), tile.size, result);
    if (input || (row.nr != 0 && row.mr != tile.tile)) continue;
    if (weights)
      weights_check.Run(As<WinogradWeightsArgs<float>>(row), tile, result);
    else
      output_check.Run(As<WinogradOutputArgs<float>>(row), tile, result);
  }
  return true;
}

bool CheckStrassen(const KernelRow& row, Result* result) {
  StrassenSumsCheck sums;
  StrassenResultsCheck results;
  if (Of(row, "strassen_sums")) {
    sums.Run(As<StrassenSumsArgs<float>>(row), result);
    return true;
  }
  if (!Of(row, "strassen_results")) return false;
  results.Run(As<StrassenResultsArgs<float>>(row), result);
  return true;
}

bool CheckElementwise(const KernelRow& row, Result* result) {
  bool known = false;
  for (const UnaryFunction& f : kUnaryFunctions) {
    if (!Of(row, f.family)) continue;
    UnaryCheck check;
    check.Run(As<UnaryArgs<float>>(row), f, result);
    known = true;
  }
  for (const BinaryFunction& f : kBinaryFunctions) {
    if (!Of(row, f.family)) continue;
    BinaryCheck check;
    check.Run(As<BinaryArgs<float>>(row), f, result);
    known = true;
  }
  if (Of(row, "softmax") || Of(row, "log_softmax")) {
    SoftmaxCheck check;
    check.Run(As<SoftmaxArgs<float>>(row), Of(row, "log_softmax"), result);
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
