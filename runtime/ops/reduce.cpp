#include "runtime/ops/reduce.h"

namespace trimtab {
namespace {

constexpr size_t kPartialSums = 16;  // independent sums vectorize and are more accurate

struct Axis {
  size_t extent;
  size_t stride;
};

// Offset of element `index` in mixed-radix order over axes, outermost first.
size_t Offset(const Axis* axes, int count, size_t index) {
  size_t offset = 0;
  for (int i = count - 1; i > 0; --i) {
    offset += index % axes[i].extent * axes[i].stride;
    index /= axes[i].extent;
  }
  return count == 0 ? 0 : offset + index * axes[0].stride;
}

float Combine(Reduction reduction, float a, float b) {
  switch (reduction) {
    case Reduction::kMax:
      // NaN wins, as in numpy. Branch-free, so that loops vectorize.
      return static_cast<int>(b > a) | static_cast<int>(b != b) ? b : a;
    case Reduction::kMin:
      return static_cast<int>(b < a) | static_cast<int>(b != b) ? b : a;
    default:
      return a + b;
  }
}

// y[i] = combine(y[i], x[i]): one switch per row keeps the loops simple enough to vectorize.
void CombineRow(Reduction reduction, const float* x, float* y, size_t n) {
  switch (reduction) {
    case Reduction::kMax:
      for (size_t i = 0; i < n; ++i) y[i] = Combine(Reduction::kMax, y[i], x[i]);
      break;
    case Reduction::kMin:
      for (size_t i = 0; i < n; ++i) y[i] = Combine(Reduction::kMin, y[i], x[i]);
      break;
    default:
      for (size_t i = 0; i < n; ++i) y[i] += x[i];
  }
}

// Reduces a contiguous row of at least one element.
float ReduceRow(Reduction reduction, const float* x, size_t n) {
  float partial[kPartialSums];
  if (n < kPartialSums) {
    partial[0] = x[0];
    for (size_t i = 1; i < n; ++i) partial[0] = Combine(reduction, partial[0], x[i]);
    return partial[0];
  }
  for (size_t i = 0; i < kPartialSums; ++i) partial[i] = x[i];
  size_t i = kPartialSums;
  for (; i + kPartialSums <= n; i += kPartialSums)
    CombineRow(reduction, x + i, partial, kPartialSums);
  // A largest or smallest element may be read twice, so that the rest is a whole block as well.
  if (reduction == Reduction::kMax || reduction == Reduction::kMin)
    CombineRow(reduction, x + n - kPartialSums, partial, kPartialSums);
  else
    CombineRow(reduction, x + i, partial, n - i);
  for (size_t half = kPartialSums / 2; half > 0; half /= 2)
    CombineRow(reduction, partial + half, partial, half);
  return partial[0];
}

}  // namespace

Reduce::Reduce(Reduction reduction) : reduction_(reduction) {}

Status Reduce::InferShape() {
  const Dims& x = input(0).dims;
  const IntList& axes = attributes().axes;
  reduced_ = 0;
  for (uint32_t i = 0; i < axes.size; ++i) {
    const int axis = x.Axis(axes[i]);
    TRIMTAB_CHECK(axis >= 0 && (reduced_ >> axis & 1) == 0,
                  "axis is out of range or repeated (axis)", axes[i]);
    TRIMTAB_CHECK(reduction_ == Reduction::kSum || x[axis] > 0,
                  "an empty dimension has no such value (axis)", axis);
    reduced_ |= 1u << axis;
  }
  Dims& y = output().dims;
  y.rank = 0;
  for (int i = 0; i < x.rank; ++i) {
    const bool gone = (reduced_ >> i & 1) != 0;
    if (!gone || attributes().keep_dims) y.d[y.rank++] = gone ? 1 : x[i];
  }
  return Status();
}

// If the innermost dimension is kept, whole rows are combined into rows of the result; if it is
// reduced, each row becomes one value.
void Reduce::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  auto* const y = static_cast<float*>(output().raw);
  const Reduction reduction = reduction_;
  Axis kept[Dims::kMaxRank], gone[Dims::kMaxRank];
  int kept_count = 0, gone_count = 0;
  size_t row = 1, rows = 1, results = 1;
  int inner = x.dims.rank;
  const bool row_is_kept = inner > 0 && (reduced_ >> (inner - 1) & 1) == 0;
  for (; inner > 0 && ((reduced_ >> (inner - 1) & 1) == 0) == row_is_kept; --inner) {
    row *= static_cast<size_t>(x.dims[inner - 1]);
  }
  for (int i = 0; i < inner; ++i) {
    Axis axis = {static_cast<size_t>(x.dims[i]),
                 static_cast<size_t>(x.dims.Count(i + 1, x.dims.rank))};
    const bool is_gone = (reduced_ >> i & 1) != 0;
    (is_gone ? rows : results) *= axis.extent;
    Axis* const axes = is_gone ? gone : kept;
    int& count = is_gone ? gone_count : kept_count;
    // Neighboring axes are one.
    if (i > 0 && ((reduced_ >> (i - 1) & 1) != 0) == is_gone) axis.extent *= axes[--count].extent;
    axes[count++] = axis;
  }
  const auto* from = static_cast<const float*>(x.raw);
  const size_t width = row_is_kept ? row : 1;
  const auto reduced_elements = static_cast<float>(row_is_kept ? rows : rows * row);
  pool.For(results, rows * row, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const float* base = from + Offset(kept, kept_count, i);
      float* out = y + i * width;
      for (size_t j = 0; j < width; ++j) out[j] = 0;  // an empty sum
      for (size_t r = 0; r < rows && row > 0; ++r) {
        const float* in = base + Offset(gone, gone_count, r);
        const float value = row_is_kept ? 0 : ReduceRow(reduction, in, row);
        if (!row_is_kept) {
          out[0] = r == 0 ? value : Combine(reduction, out[0], value);
        } else if (r == 0) {
          for (size_t j = 0; j < width; ++j) out[j] = in[j];
        } else {
          CombineRow(reduction, in, out, width);
        }
      }
      for (size_t j = 0; reduction == Reduction::kMean && j < width; ++j) {
        out[j] /= reduced_elements;
      }
    }
  });
}

}  // namespace trimtab
