#include "runtime/core/strided_copy.h"

#include "generated/element_sizes.h"
#include "runtime/core/copy.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

// Elements are copied as bits; the buffers have other types.
using Bits8 = uint8_t;
using Bits16 = uint16_t __attribute__((may_alias));
using Bits32 = uint32_t __attribute__((may_alias));
using Bits64 = uint64_t __attribute__((may_alias));

// With optimization for size, compilers do not vectorize, and vectors of unknown length (SVE) would
// use scatter instructions.
#if defined(__clang__)
#define TRIMTAB_VECTORS _Pragma("clang loop vectorize_width(16, fixed)")
#else
#define TRIMTAB_VECTORS
#endif

constexpr size_t kFewRows = 8;  // fewer cost more as an inner loop than their order saves
// A tile of a transpose, in elements: its columns are a cache line of float32 of each row, which is
// read at once; its rows are adjacent in the result.
constexpr size_t kTile = 16, kTileRows = 64;

// Four elements of T.
template <typename T>
struct Four {
  typedef T Lanes __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));

  static Lanes At(const T* x) { return *reinterpret_cast<const Lanes*>(x); }
};
using Lanes = Four<uint32_t>::Lanes;

// Transposes 4 x 4 elements: from[r * from_row + c] to to[c * to_column + r].
template <typename T>
inline void TransposeFour(const void* from_bytes, ptrdiff_t from_row, void* to_bytes,
                          ptrdiff_t to_column) {
  using Lanes = typename Four<T>::Lanes;
  const auto at = Four<T>::At;
  const auto* from = static_cast<const T*>(from_bytes);
  auto* const to = static_cast<T*>(to_bytes);
  const Lanes a = at(from), b = at(from + from_row), c = at(from + 2 * from_row),
              d = at(from + 3 * from_row);
  const Lanes ab = {a[0], b[0], a[1], b[1]}, ab_high = {a[2], b[2], a[3], b[3]};
  const Lanes cd = {c[0], d[0], c[1], d[1]}, cd_high = {c[2], d[2], c[3], d[3]};
  // By reference: GCC 14 for AArch64 fails on vectors of less alignment that are passed by value.
  const auto store = [&](int column, const Lanes& left, const Lanes& right, int high) {
    *reinterpret_cast<Lanes*>(to + column * to_column) =
        high == 0 ? Lanes{left[0], left[1], right[0], right[1]}
                  : Lanes{left[2], left[3], right[2], right[3]};
  };
  store(0, ab, cd, 0);
  store(1, ab, cd, 1);
  store(2, ab_high, cd_high, 0);
  store(3, ab_high, cd_high, 1);
}

// The same for elements of one byte.
inline void TransposeFourBytes(const void* from_bytes, ptrdiff_t from_row, void* to_bytes,
                               ptrdiff_t to_column) {
  typedef uint8_t Bytes __attribute__((vector_size(16)));
  const auto* from = static_cast<const char*>(from_bytes);
  auto* const to = static_cast<char*>(to_bytes);
  uint32_t words[4];
  for (uint32_t& word : words) {
    __builtin_memcpy(&word, from, sizeof(word));
    from += from_row;
  }
  Bytes x;
  __builtin_memcpy(&x, words, sizeof(x));
  const Bytes y = {x[0], x[4], x[8],  x[12], x[1], x[5], x[9],  x[13],
                   x[2], x[6], x[10], x[14], x[3], x[7], x[11], x[15]};
  __builtin_memcpy(words, &y, sizeof(y));
  for (int column = 0; column < 4; ++column)
    __builtin_memcpy(to + column * to_column, &words[column], sizeof(*words));
}

// Transposes `columns` columns of four rows, in blocks of 4 x 4.
template <void (*kFour)(const void*, ptrdiff_t, void*, ptrdiff_t), size_t kBytes>
void TransposeRows(const char* from, ptrdiff_t from_row, char* to, ptrdiff_t to_column,
                   size_t columns) {
  const ptrdiff_t step = 4 * to_column * static_cast<ptrdiff_t>(kBytes);
  for (; columns > 0; columns -= 4, from += 4 * kBytes, to += step)
    kFour(from, from_row, to, to_column);
}

// Interleaves three planes, as of an RGB image, into pixels.
inline void InterleaveThree(const void* from_bytes, ptrdiff_t from_row, void* to) {
  const auto* from = static_cast<const uint32_t*>(from_bytes);
  const auto at = Four<uint32_t>::At;
  const Lanes a = at(from), b = at(from + from_row), c = at(from + 2 * from_row);
  auto* const y = reinterpret_cast<Lanes*>(to);
  y[0] = Lanes{a[0], b[0], c[0], a[1]};
  y[1] = Lanes{b[1], c[1], a[2], b[2]};
  y[2] = Lanes{c[2], a[3], b[3], c[3]};
}

// The inverse: pixels of three elements into planes.
inline void SeparateThree(const void* from, void* to_bytes, ptrdiff_t to_row) {
  auto* const to = static_cast<uint32_t*>(to_bytes);
  const auto* const x = reinterpret_cast<const Lanes*>(from);
  const Lanes a = x[0], b = x[1], c = x[2];
  *reinterpret_cast<Lanes*>(to) = Lanes{a[0], a[3], b[2], c[1]};
  *reinterpret_cast<Lanes*>(to + to_row) = Lanes{a[1], b[0], b[3], c[2]};
  *reinterpret_cast<Lanes*>(to + 2 * to_row) = Lanes{a[2], b[1], c[0], c[3]};
}

// InterleaveThree for elements of one and two bytes, in runs that ARM has interleaving stores for; returns
// the number of pixels that it copied.
constexpr size_t kRun = 16;

template <typename Bits>
inline void InterleaveRun(const Bits* __restrict x, ptrdiff_t plane, Bits* __restrict y) {
  TRIMTAB_VECTORS
  for (size_t i = 0; i < kRun; ++i) {
    y[3 * i] = x[i];
    y[3 * i + 1] = x[static_cast<ptrdiff_t>(i) + plane];
    y[3 * i + 2] = x[static_cast<ptrdiff_t>(i) + 2 * plane];
  }
}

template <typename Bits>
size_t InterleaveNarrow(const void* from, ptrdiff_t plane, void* to, size_t count) {
  const Bits* x = static_cast<const Bits*>(from);
  Bits* y = static_cast<Bits*>(to);
  for (size_t left = count; left >= kRun; left -= kRun, x += kRun, y += 3 * kRun)
    InterleaveRun(x, plane, y);
  return count - count % kRun;
}

// Copies `count` elements with a stride on each side.
template <typename Bits>
void CopyLine(const void* from, ptrdiff_t from_step, void* to, ptrdiff_t to_step, size_t count) {
  const Bits* x = static_cast<const Bits*>(from);
  Bits* y = static_cast<Bits*>(to);
  for (; count > 0; --count, x += from_step, y += to_step) *y = *x;
}

// Copies rows x columns elements of `bytes` in tiles, so that both sides reuse the cache lines they
// touch.
void CopyTiles(size_t bytes, const char* from, char* to, size_t rows, ptrdiff_t from_row,
               ptrdiff_t to_row, size_t columns, ptrdiff_t from_column, ptrdiff_t to_column) {
  const auto size = static_cast<ptrdiff_t>(bytes);
  const auto copy_line = bytes == 4   ? CopyLine<Bits32>
                         : bytes == 8 ? CopyLine<Bits64>
                         : bytes == 2 ? CopyLine<Bits16>
                                      : CopyLine<Bits8>;
  const bool crosses = from_column == 1 && to_row == 1;
  const bool one = kHasElementsOfOneByte && bytes == 1, two = kHasElementsOfTwoBytes && bytes == 2;
  const auto transpose = !crosses     ? nullptr
                         : bytes == 4 ? TransposeRows<TransposeFour<uint32_t>, 4>
                         : two        ? TransposeRows<TransposeFour<uint16_t>, 2>
                         : one        ? TransposeRows<TransposeFourBytes, 1>
                                      : nullptr;
  const bool narrow = (one || two) && crosses && rows == 3 && to_column == 3;
  // A few rows or columns, such as the channels of an image, leave cache for longer strips.
  const size_t strip = rows < kTile ? 64 * kTile : kTile;
  const size_t height = columns < kTile ? 64 * kTile : kTileRows;
  for (size_t r0 = 0; r0 < rows; r0 += height) {
    const size_t r1 = Min(rows, r0 + height);
    for (size_t c0 = 0; c0 < columns; c0 += strip) {
      const size_t c1 = Min(columns, c0 + strip);
      size_t whole = c0 + (c1 - c0) / 4 * 4;
      const auto source = [&](size_t r, size_t c) {
        return from +
               (static_cast<ptrdiff_t>(r) * from_row + static_cast<ptrdiff_t>(c) * from_column) *
                   size;
      };
      const auto target = [&](size_t r, size_t c) {
        return to +
               (static_cast<ptrdiff_t>(r) * to_row + static_cast<ptrdiff_t>(c) * to_column) * size;
      };
      // Rows before `done` only need the columns from `whole` on.
      size_t done = r0;
      for (; transpose != nullptr && done + 4 <= r1; done += 4)
        transpose(source(done, c0), from_row, target(done, c0), to_column, whole - c0);
      if (bytes == 4 && crosses && done + 3 == r1 && to_column == 3) {
        for (size_t c = c0; c < whole; c += 4)
          InterleaveThree(source(done, c), from_row, target(done, c));
        done = r1;
      }
      if (bytes == 4 && crosses && columns == 3 && from_row == 3) {
        for (done = r0; done + 4 <= r1; done += 4)
          SeparateThree(source(done, c0), target(done, c0), to_column);
        whole = c1;
      }
      if (narrow) {
        const auto interleave = one ? InterleaveNarrow<Bits8> : InterleaveNarrow<Bits16>;
        whole = c0 + interleave(source(0, c0), from_row, target(0, c0), c1 - c0);
        done = r1;
      }
      for (size_t r = done; r < r1; ++r)
        copy_line(source(r, c0), from_column, target(r, c0), to_column, c1 - c0);
      for (size_t c = whole; c < c1 && done > r0; ++c)
        copy_line(source(r0, c), from_row, target(r0, c), to_row, done - r0);
    }
  }
}

}  // namespace

void StridedCopy::AddAxis(int64_t extent, ptrdiff_t from_stride, ptrdiff_t to_stride) {
  if (extent <= 0) empty_ = true;
  if (extent <= 1) return;
  int at = count_++;
  for (; at > 0 && axes_[at - 1].to < to_stride; --at) axes_[at] = axes_[at - 1];
  axes_[at] = {static_cast<size_t>(extent), from_stride, to_stride};
}

// Merges neighboring axes that are contiguous on both sides: fewer loops, longer copies.
void StridedCopy::MergeAxes() {
  int kept = 0;
  for (int i = 0; i < count_; ++i) {
    const Axis& axis = axes_[i];
    if (kept > 0) {
      Axis& outer = axes_[kept - 1];
      const auto extent = static_cast<ptrdiff_t>(axis.extent);
      if (outer.from == extent * axis.from && outer.to == extent * axis.to) {
        outer = {outer.extent * axis.extent, axis.from, axis.to};
        continue;
      }
    }
    axes_[kept++] = axis;
  }
  count_ = kept;
}

void StridedCopy::Run(const void* from, void* to, ThreadPool& pool) {
  if (empty_) return;
  MergeAxes();
  // At least two axes: a single run is one row, a single element one row of one column.
  for (; count_ < 2; ++count_) {
    if (count_ == 1) axes_[1] = axes_[0];
    axes_[0] = {1, 1, 1};
  }
  const Axis column = axes_[count_ - 1];
  const bool runs = column.from == 1 && column.to == 1;
  // Tiles pair the axis that is dense in the source with the axis that is dense in the result. Runs
  // follow the shorter of the axes beside them: one side is in order, the other in a few streams.
  for (int i = 0; i < count_ - 2; ++i) {
    const Axis axis = axes_[i], last = axes_[count_ - 2];
    const bool shorter = axis.from < last.from && axis.extent < last.extent;
    if (runs ? !shorter || axis.extent < kFewRows : axis.from != 1) continue;
    axes_[i] = last;
    axes_[count_ - 2] = axis;
  }
  const Axis row = axes_[count_ - 2];
  size_t rows = row.extent;
  for (int i = 0; i < count_ - 2; ++i) rows *= axes_[i].extent;
  const size_t row_bytes = column.extent * element_bytes_;
  const size_t unit = runs ? 1 : kTile;  // rows that one thread copies

  pool.For(DivideUp(rows, unit), unit * column.extent, [&](size_t begin, size_t end, int) {
    begin *= unit;
    end = Min(end * unit, rows);
    while (begin < end) {
      const size_t first = begin % row.extent;
      const size_t n = Min(row.extent - first, end - begin);
      ptrdiff_t from_offset = static_cast<ptrdiff_t>(first) * row.from;
      ptrdiff_t to_offset = static_cast<ptrdiff_t>(first) * row.to;
      size_t outer = begin / row.extent;
      for (int i = count_ - 3; i >= 0; --i) {
        const auto at = static_cast<ptrdiff_t>(outer % axes_[i].extent);
        outer /= axes_[i].extent;
        from_offset += at * axes_[i].from;
        to_offset += at * axes_[i].to;
      }
      const auto size = static_cast<ptrdiff_t>(element_bytes_);
      const char* x = static_cast<const char*>(from) + from_offset * size;
      char* y = static_cast<char*>(to) + to_offset * size;
      if (runs) {
        for (size_t i = 0; i < n; ++i, x += row.from * size, y += row.to * size) {
          Copy(y, x, row_bytes);
        }
      } else {
        // Columns are dense in the source if any axis is, or else are the longer axis.
        if ((row.from == 1 && column.to == 1) || column.extent < kTile) {
          CopyTiles(element_bytes_, x, y, column.extent, column.from, column.to, n, row.from,
                    row.to);
        } else {
          CopyTiles(element_bytes_, x, y, n, row.from, row.to, column.extent, column.from,
                    column.to);
        }
      }
      begin += n;
    }
  });
}

void LogicalStrides(const Tensor& tensor, ptrdiff_t* strides) {
  Dims physical = tensor.PhysicalDims();
  if (tensor.parent_channels != 0) physical[3] = tensor.parent_channels;
  for (int axis = 0; axis < tensor.dims.rank; ++axis) {
    strides[axis] =
        static_cast<ptrdiff_t>(physical.Count(tensor.PhysicalAxis(axis) + 1, physical.rank));
  }
}

}  // namespace trimtab
