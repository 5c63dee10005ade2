// Checks every micro-kernel of this binary that this CPU can run against float64 references:
// values, tails, strides, taps, empty sizes, and that nothing is accessed beyond the contract in
// kernels/kernel_api.h.
//
// Prints a line per kernel; exit code 1 if one is wrong or has no check.
#include "runtime/core/cpu.h"
#include "runtime/core/kernel_table.h"
#include "tests/kernels/check_camera.h"
#include "tests/kernels/check_elementwise.h"
#include "tests/kernels/check_i8_gemm.h"
#include "tests/kernels/check_i8_winograd.h"
#include "tests/kernels/check_products.h"
#include "tests/kernels/check_quantized.h"
#include "tests/kernels/check_roofline.h"
#include "tests/kernels/check_rows.h"
#include "tests/kernels/check_strassen.h"
#include "tests/kernels/check_update.h"
#include "tests/kernels/check_winograd.h"

namespace check {
namespace {

using trimtab::FamilyHash;
using trimtab::KernelRow;

template <typename Args>
trimtab::Kernel<Args> As(const KernelRow& row) {
  return reinterpret_cast<trimtab::Kernel<Args>>(row.function);
}

// The check of a family for element type T; kernels for other types need checks of their own.
template <typename T>
bool Of(const KernelRow& row, const char* family) {
  return row.family == FamilyHash<T>(trimtab::NameHash(family));
}

// A portable kernel supports any tile: it is checked with the tiles of the others and with odd
// ones.
template <typename T>
bool CheckProducts(const KernelRow& row, Result* result) {
  static const size_t kTiles[][2] = {{8, 8}, {4, 8}, {6, 16}, {14, 32}, {3, 5}, {1, 1}};
  const bool any_tile = row.nr == 0;
  if (Of<T>(row, "gemm")) {
    GemmCheck<T> check;
    if (!any_tile) check.Run(As<GemmArgs<T>>(row), row.mr, row.nr, result);
    for (const auto& tile : kTiles) {
      if (any_tile) check.Run(As<GemmArgs<T>>(row), tile[0], tile[1], result);
    }
    return true;
  }
  if (Of<T>(row, "depthwise")) {
    DepthwiseCheck<T> check;
    if (!any_tile) check.Run(As<DepthwiseArgs<T>>(row), row.nr, result);
    for (const auto& tile : kTiles) {
      if (any_tile && tile[1] > 1) check.Run(As<DepthwiseArgs<T>>(row), tile[1], result);
    }
    return true;
  }
  if (Of<float>(row, "plane_rows")) {
    PlaneRowsCheck check;
    check.Run(As<PlaneRowsArgs<float>>(row), result);
    return true;
  }
  if (Of<T>(row, "max_pool") || Of<T>(row, "average_pool")) {
    PoolCheck<T> check;
    check.Run(As<PoolArgs<T>>(row), Of<T>(row, "average_pool"), result);
    return true;
  }
  return false;
}

const char* NameOf(const KernelRow& row) {
  return trimtab::kKernelNames[&row - trimtab::kKernelTable];
}

template <typename T>
bool CheckWinograd(const KernelRow& row, Result* result) {
  const bool input = Of<T>(row, "winograd_input"), weights = Of<T>(row, "winograd_weights");
  if (!input && !weights && !Of<T>(row, "winograd_output")) return false;
  for (const WinogradTile& tile : kWinogradTiles) {
    if (row.nr != 0 && row.nr != tile.size) continue;
    WinogradInputCheck<T> input_check;
    WinogradWeightsCheck<T> weights_check;
    WinogradOutputCheck<T> output_check;
    // The input transform does not depend on the tile, unless it is for strides.
    const size_t outputs = input && tile.stride == 1 ? 0 : tile.tile;
    if (row.nr != 0 && row.mr != outputs) continue;
    if (input) input_check.Run(As<WinogradInputArgs<T>>(row), tile, result);
    if (input) continue;
    if (weights)
      weights_check.Run(As<WinogradWeightsArgs<T>>(row), tile, result);
    else
      output_check.Run(As<WinogradOutputArgs<T>>(row), tile, result);
  }
  return true;
}

bool CheckCamera(const KernelRow& row, Result* result) {
  CameraRowCheck check;
  if (!Of<uint8_t>(row, "camera_row")) return false;
  check.Run(As<CameraRowArgs<uint8_t>>(row), result);
  return true;
}

bool CheckStrassen(const KernelRow& row, Result* result) {
  StrassenSumsCheck sums;
  StrassenResultsCheck results;
  if (Of<float>(row, "strassen_sums")) {
    sums.Run(As<StrassenSumsArgs<float>>(row), result);
    return true;
  }
  if (!Of<float>(row, "strassen_results")) return false;
  results.Run(As<StrassenResultsArgs<float>>(row), result);
  return true;
}

// The portable float32 kernel of the family under check, for unary functions that have no row in
// kUnaryFunctions. The operator vectors compare that kernel with onnxruntime.
trimtab::Kernel<UnaryArgs<float>> portable_kernel = nullptr;

double Portable(double x, double alpha, double beta) {
  float value = static_cast<float>(x), result = 0;
  portable_kernel({&value, &result, 1, static_cast<float>(alpha), static_cast<float>(beta)});
  return result;
}

template <typename T>
bool CheckLikePortable(const KernelRow& row, Result* result) {
  if (row.activation != trimtab::DTypeOf<T>::kValue) return false;
  char name[64];
  const int family =
      static_cast<int>(strstr(NameOf(row), sizeof(T) == 2 ? "_f16_" : "_f32_") - NameOf(row));
  snprintf(name, sizeof(name), "%.*s_f32_portable", family, NameOf(row));
  for (size_t i = 0; i < trimtab::kKernelTableSize; ++i) {
    const KernelRow& other = trimtab::kKernelTable[i];
    if (strcmp(NameOf(other), name) == 0) portable_kernel = As<UnaryArgs<float>>(other);
  }
  const UnaryFunction function = {"", Portable, 1.0f, 0.0f, -10, 10, 16, 4, false, 3};
  UnaryCheck<T> check;
  check.Run(As<UnaryArgs<T>>(row), function, result);
  return true;
}

template <typename T>
bool CheckElementwise(const KernelRow& row, Result* result) {
  bool known = false;
  for (const UnaryFunction& f : kUnaryFunctions) {
    if (!Of<T>(row, f.family)) continue;
    UnaryCheck<T> check;
    check.Run(As<UnaryArgs<T>>(row), f, result);
    known = true;
  }
  for (const BinaryFunction& f : kBinaryFunctions) {
    if (!Of<T>(row, f.family)) continue;
    BinaryCheck<T> check;
    check.Run(As<BinaryArgs<T>>(row), f, result);
    known = true;
  }
  if (Of<T>(row, "softmax") || Of<T>(row, "log_softmax")) {
    SoftmaxCheck<T> check;
    check.Run(As<SoftmaxArgs<T>>(row), Of<T>(row, "log_softmax"), result);
    known = true;
  }
  if (Of<T>(row, "softmax_columns")) {
    SoftmaxColumnsCheck<T> check;
    check.Run(As<SoftmaxColumnsArgs<T>>(row), result);
    known = true;
  }
  if (Of<float>(row, "arg_max")) {
    ArgMaxCheck check;
    check.Run(As<SoftmaxColumnsArgs<float>>(row), result);
    known = true;
  }
  if (Of<T>(row, "normalize")) {
    NormalizeCheck<T> check;
    check.Run(As<NormalizeArgs<T>>(row), result);
    known = true;
  }
  return known || CheckLikePortable<T>(row, result);
}

template <typename T>
bool CheckTyped(const KernelRow& row, Result* result) {
  return CheckProducts<T>(row, result) || CheckWinograd<T>(row, result) ||
         CheckElementwise<T>(row, result);
}

bool CheckUpdate(const KernelRow& row, Result* result) {
  const bool is_sgd = Of<float>(row, "sgd_update");
  if (!is_sgd && !Of<float>(row, "adam_update")) return false;
  UpdateCheck check;
  check.Run(As<UpdateArgs<float>>(row), is_sgd ? 2 : 3, result);
  if (is_sgd) check.Run(As<UpdateArgs<float>>(row), 1, result);
  return true;
}

// Only the Python engine contains these.
template <typename T>
bool CheckRoofline(const KernelRow& row, Result* result) {
  const bool is_by_hand = row.name == trimtab::NameHash("peak_f32_portable");
  Loop loop = is_by_hand ? Loop::kPortablePeak : Loop::kPeak;
  if (Of<T>(row, "read"))
    loop = Loop::kRead;
  else if (Of<T>(row, "copy"))
    loop = Loop::kCopy;
  else if (!Of<T>(row, "peak"))
    return false;
  RooflineCheck<T> check;
  check.Run(As<UnaryArgs<T>>(row), loop, result);
  return true;
}

// The number after the c of a tile in the kernel's name.
size_t DepthStep(const KernelRow& row) {
  const char* tile = strstr(NameOf(row), "_i8_");
  const char* step = tile == nullptr ? nullptr : strchr(tile + 4, 'c');
  const unsigned long depth = step == nullptr ? 0 : strtoul(step + 1, nullptr, 10);
  return depth == 0 ? 1 : depth;
}

bool CheckI8Winograd(const KernelRow& row, Result* result) {
  static const size_t kTiles[][2] = {{16, 4}, {5, 2}, {8, 1}};
  I8WinogradCheck check;
  if (Of<int8_t>(row, "winograd_input")) {
    check.Input(As<WinogradInputArgs<int8_t>>(row), result);
  } else if (Of<int8_t>(row, "winograd_output")) {
    check.Output(As<WinogradOutputArgs<int8_t>>(row), result);
  } else if (!Of<int8_t>(row, "winograd_product")) {
    return false;
  } else if (row.nr != 0) {
    check.Product(As<WinogradProductArgs<int8_t>>(row), row.nr, DepthStep(row), result);
  } else {
    for (const auto& tile : kTiles)
      check.Product(As<WinogradProductArgs<int8_t>>(row), tile[0], tile[1], result);
  }
  return true;
}

bool CheckI8Gemm(const KernelRow& row, Result* result) {
  static const size_t kTiles[][3] = {{4, 16, 4}, {4, 4, 16}, {3, 5, 2}, {8, 8, 8}};
  static I8GemmCheck check;
  const bool is_paired = Of<int8_t>(row, "paired_gemm");
  if (!is_paired && !Of<int8_t>(row, "gemm")) return false;
  const auto kernel = As<GemmArgs<int8_t>>(row);
  if (is_paired) {
    check.PairedGemm(kernel, row.nr != 0 ? row.mr : 4, row.nr != 0 ? row.nr : 8, result);
  } else if (row.nr != 0) {
    check.Gemm(kernel, row.mr, row.nr, DepthStep(row), result);
  } else {
    for (const auto& tile : kTiles) check.Gemm(kernel, tile[0], tile[1], tile[2], result);
  }
  return true;
}

bool CheckQuantized(const KernelRow& row, Result* result) {
  static QuantizedCheck check;
  if (Of<int8_t>(row, "depthwise")) {
    check.Depthwise(As<DepthwiseArgs<int8_t>>(row), row.nr != 0 ? row.nr : 16, result);
  } else if (Of<int8_t>(row, "look_up")) {
    check.LookUp(As<LookUpArgs<int8_t>>(row), result);
  } else if (Of<int8_t>(row, "max_pool")) {
    check.MaxPool(As<PoolArgs<int8_t>>(row), result);
  } else if (Of<int8_t>(row, "qlinear_add")) {
    check.Add(As<QlinearAddArgs<int8_t>>(row), result);
  } else if (Of<int8_t>(row, "qlinear_mean")) {
    check.Mean(As<QlinearMeanArgs<int8_t>>(row), result);
  } else if (Of<int8_t>(row, "qlinear_mul")) {
    check.Mul(As<QlinearMulArgs<int8_t>>(row), result);
  } else if (Of<int8_t>(row, "qlinear_average_pool")) {
    check.AveragePool(As<QlinearPoolArgs<int8_t>>(row), result);
  } else if (Of<float>(row, "quantize")) {
    check.Quantize(As<QuantizeArgs<float>>(row), result);
  } else {
    return false;
  }
  return true;
}

bool IsNamed(const KernelRow& row, int count, char** names) {
  for (int i = 0; i < count; ++i)
    if (strcmp(NameOf(row), names[i]) == 0) return true;
  return count == 0;
}

// Checks the named kernels; without names, all.
int Check(int count, char** names) {
  int checked = 0, skipped = 0, failed = 0;
  for (size_t i = 0; i < trimtab::kKernelTableSize; ++i) {
    const KernelRow& row = trimtab::kKernelTable[i];
    if (!IsNamed(row, count, names)) continue;
    // Printed before the checks, so that a crash has a name.
    printf("%-28s %08x ", NameOf(row), static_cast<unsigned>(row.name));
    fflush(stdout);
    if ((row.cpu_features & ~trimtab::CpuFeatures()) != 0) {
      printf("skipped: this CPU lacks its instructions\n");
      ++skipped;
      continue;
    }
    Result result;
    if (!CheckTyped<float>(row, &result) && !CheckTyped<Half>(row, &result) &&
        !CheckStrassen(row, &result) && !CheckUpdate(row, &result) && !CheckI8Gemm(row, &result) &&
        !CheckCamera(row, &result) && !CheckQuantized(row, &result) &&
        !CheckI8Winograd(row, &result) && !CheckRoofline<float>(row, &result) &&
        !CheckRoofline<Half>(row, &result)) {
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

int main(int argc, char** argv) { return check::Check(argc - 1, argv + 1); }
