#include "runtime/ops/reduce.h"

#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

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

typedef float Lanes __attribute__((vector_size(16)));
typedef int32_t Masks __attribute__((vector_size(16)));
constexpr size_t kLanes = 4;
constexpr size_t kBlock = 1024;  // columns of a result that a first-level cache holds

template <Reduction kReduction>
constexpr bool kSums = kReduction == Reduction::kSum || kReduction == Reduction::kMean;

// NaN is the largest and the smallest value, as in numpy.
template <Reduction kReduction>
Lanes Combine(Lanes a, Lanes b) {
  if constexpr (kSums<kReduction>) return a + b;
  const Lanes better = kReduction == Reduction::kMax ? (a > b ? a : b) : (a < b ? a : b);
  return reinterpret_cast<Lanes>(reinterpret_cast<Masks>(better) | (a != a));
}

Lanes Load(const float* x) {
  Lanes lanes;
  __builtin_memcpy(&lanes, x, sizeof(lanes));
  return lanes;
}

// The first `count` elements of a row of n, and what changes no result.
template <Reduction kReduction>
Lanes First(const float* x, size_t n, size_t count) {
  const float fill = kSums<kReduction> ? 0 : x[0];
  Lanes first = {fill, fill, fill, fill};
  if (n < kLanes) {
    for (size_t i = 0; i < count; ++i) first[i] = x[i];
    return first;
  }
  if (!kSums<kReduction> || count == kLanes) return Load(x);
  const auto end = static_cast<int32_t>(count);
  const Masks used = Masks{0, 1, 2, 3} < Masks{end, end, end, end};
  return reinterpret_cast<Lanes>(reinterpret_cast<Masks>(Load(x)) & used);
}

// Reduces a contiguous row of at least one element to four values. Four vectors of partial sums
// are more accurate than one, and do not wait for each other.
template <Reduction kReduction>
Lanes ReduceRow(const float* x, size_t n) {
  size_t i = n % kLanes == 0 ? kLanes : n % kLanes;
  Lanes sum = First<kReduction>(x, n, i);
  if (n - i >= 3 * kLanes) {
    Lanes a = Load(x + i), b = Load(x + i + kLanes), c = Load(x + i + 2 * kLanes);
    for (i += 3 * kLanes; n - i >= 4 * kLanes; i += 4 * kLanes) {
      sum = Combine<kReduction>(sum, Load(x + i));
      a = Combine<kReduction>(a, Load(x + i + kLanes));
      b = Combine<kReduction>(b, Load(x + i + 2 * kLanes));
      c = Combine<kReduction>(c, Load(x + i + 3 * kLanes));
    }
    sum = Combine<kReduction>(Combine<kReduction>(sum, a), Combine<kReduction>(b, c));
  }
  for (; i < n; i += kLanes) sum = Combine<kReduction>(sum, Load(x + i));
  return sum;
}

// Lane i of the result is row i reduced: pairs of rows, and then of pairs.
template <Reduction kReduction>
Lanes Fold(const Lanes (&rows)[kLanes]) {
  const auto halves = [](const Lanes& a, const Lanes& b) {
    return Combine<kReduction>(Lanes{a[0], a[1], b[0], b[1]}, Lanes{a[2], a[3], b[2], b[3]});
  };
  const Lanes a = halves(rows[0], rows[1]), b = halves(rows[2], rows[3]);
  return Combine<kReduction>(Lanes{a[0], a[2], b[0], b[2]}, Lanes{a[1], a[3], b[1], b[3]});
}

}  // namespace

template <Reduction kReduction>
Status Reduce<kReduction>::InferShape() {
  const Dims& x = input(0).dims;
  const IntList& axes = attributes().axes;
  reduced_ = 0;
  for (uint32_t i = 0; i < axes.size; ++i) {
    const int axis = x.Axis(axes[i]);
    TRIMTAB_CHECK(axis >= 0 && (reduced_ >> axis & 1) == 0,
                  "axis is out of range or repeated (axis)", axes[i]);
    TRIMTAB_CHECK(kReduction == Reduction::kSum || x[axis] > 0,
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

template <Reduction kReduction>
Status Reduce<kReduction>::Prepare() {
  constexpr uint32_t kFamily = kSums<kReduction>               ? NameHash("add")
                               : kReduction == Reduction::kMax ? NameHash("max")
                                                               : NameHash("min");
  return Bind<kFamily>(attributes().kernel, &kernel_);
}

// If the innermost dimension is kept, whole rows are combined into rows of the result; if it is
// reduced, each row becomes one value.
template <Reduction kReduction>
void Reduce<kReduction>::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  auto* const y = static_cast<float*>(output().raw);
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
  if (row_is_kept) {
    const size_t blocks = DivideUp(row, kBlock);
    const Axis inner_axis = gone_count > 0 ? gone[gone_count - 1] : Axis{1, 0};
    pool.For(results * blocks, rows * Min(row, kBlock), [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        const size_t first = i % blocks * kBlock, n = Min(row - first, kBlock);
        const float* base = from + Offset(kept, kept_count, i / blocks) + first;
        float* out = y + i / blocks * row + first;
        for (size_t j = 0; j < n; ++j) out[j] = rows > 0 ? base[j] : 0;  // an empty sum
        for (size_t r = 0; r < rows; r += inner_axis.extent) {
          const size_t done = r == 0 ? 1 : 0;
          const float* in = base + Offset(gone, gone_count, r) + done * inner_axis.stride;
          kernel_({out, in, out, n, inner_axis.extent - done, 0, inner_axis.stride, 0, 1, 1});
        }
        for (size_t j = 0; kReduction == Reduction::kMean && j < n; ++j)
          out[j] /= static_cast<float>(rows);
      }
    });
    return;
  }
  const auto reduced = [&](size_t result) {
    const float* const base = from + Offset(kept, kept_count, result);
    Lanes sum = row > 0 && rows > 0 ? ReduceRow<kReduction>(base, row) : Lanes{};
    for (size_t r = 1; r < rows && row > 0; ++r) {
      const float* const next = base + Offset(gone, gone_count, r);
      sum = Combine<kReduction>(sum, ReduceRow<kReduction>(next, row));
    }
    return sum;
  };
  pool.For(results, rows * row, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; i += kLanes) {
      const size_t count = end - i < kLanes ? end - i : kLanes;
      const Lanes first = reduced(i);
      const Lanes sums[kLanes] = {first, count > 1 ? reduced(i + 1) : first,
                                  count > 2 ? reduced(i + 2) : first,
                                  count > 3 ? reduced(i + 3) : first};
      Lanes folded = Fold<kReduction>(sums);
      if (kReduction == Reduction::kMean) folded /= static_cast<float>(rows * row);
      __builtin_memcpy(y + i, &folded, count * sizeof(*y));
    }
  });
}

template class Reduce<Reduction::kMean>;
template class Reduce<Reduction::kSum>;
template class Reduce<Reduction::kMax>;
template class Reduce<Reduction::kMin>;

}  // namespace trimtab
