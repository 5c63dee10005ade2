#include "generated/attributes/pad.h"

#include <string.h>

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"

namespace trimtab {
namespace {

// How one dimension of the result reads the input: the range that negative pads leave, and a
// border.
struct Range {
  int64_t border;         // elements before the kept range; <= 0: none
  int64_t first, extent;  // the kept range of the input
  int64_t stride;         // of the input, in elements
};

// A border of the rows: columns of the result, and the input's column that the first one reads (-1:
// the constant).
struct Side {
  int64_t begin, end, at;
};

typedef uint32_t Words __attribute__((vector_size(16)));

// Writes `count` copies of an element; of the common size four at a time, the last ones again.
void Fill(uint8_t* to, int64_t count, const uint8_t* element, int64_t size) {
  constexpr int64_t kWords = sizeof(Words) / sizeof(uint32_t);
  if (size == sizeof(uint32_t)) {
    uint32_t value;
    memcpy(&value, element, sizeof(value));
    const Words words = {value, value, value, value};
    const int64_t last = count - kWords;
    for (int64_t i = 0; i < last; i += kWords) memcpy(to + i * size, &words, sizeof(words));
    if (last >= 0) return static_cast<void>(memcpy(to + last * size, &words, sizeof(words)));
    for (int64_t i = 0; i < count; ++i) memcpy(to + i * size, &value, sizeof(value));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    CopyElement(to + i * size, element, static_cast<size_t>(size));
}

// Writes `count` elements in the opposite order, from `last` backwards.
void Mirror(uint8_t* to, int64_t count, const uint8_t* last, int64_t size) {
  if (size == sizeof(uint32_t)) {
    for (int64_t i = 0; i < count; ++i) memcpy(to + i * 4, last - i * 4, sizeof(uint32_t));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    CopyElement(to + i * size, last - i * size, static_cast<size_t>(size));
}

class Pad final : public OperatorOf<PadAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    Tensor& y = output();
    if (y.Count() == 0) return;
    const Dims shape = y.PhysicalDims();
    const int inner = shape.rank - 1;
    const auto rows = static_cast<size_t>(shape.Count(0, inner));
    const auto columns = static_cast<int64_t>(shape[inner]);
    const auto size = static_cast<int64_t>(y.element_size());
    const auto* from = static_cast<const uint8_t*>(input(0).raw);
    auto* to = static_cast<uint8_t*>(y.raw);
    const Range& last = ranges_[inner];
    const Range line_range = inner > 0 ? ranges_[inner - 1] : Range{0, 0, 1, 0};
    const size_t lines = inner > 0 ? static_cast<size_t>(shape[inner - 1]) : 1;
    const int64_t rest = last.border + last.extent;
    const Side left = {0, last.border, Source(last, 0)};
    const Side right = {rest, columns, Source(last, rest)};
    pool.For(rows, static_cast<size_t>(columns), [&](size_t begin, size_t end, int) {
      size_t line = begin % lines;
      int64_t plane = PlaneOffset(shape, inner - 1, begin / lines), above = -1;
      for (size_t i = begin; i < end; ++i, ++line) {
        if (line == lines) {
          line = 0;
          plane = PlaneOffset(shape, inner - 1, i / lines);
        }
        uint8_t* row = to + static_cast<int64_t>(i) * columns * size;
        const int64_t at = plane < 0 ? -1 : Source(line_range, static_cast<int64_t>(line));
        const int64_t base = at < 0 ? -1 : plane + at * line_range.stride;
        if (base < 0) {
          Fill(row, columns, fill_, size);
        } else if (base == above) {
          Copy(row, row - columns * size, static_cast<size_t>(columns * size));
        } else {
          Border(row, left, from + base * size, size);
          Copy(row + left.end * size, from + (base + last.first) * size,
               static_cast<size_t>(last.extent * size));
          Border(row, right, from + base * size, size);
        }
        above = base;
      }
    });
  }

 protected:
  Status InferShape() override {
    const Tensor& x = input(0);
    const IntList& pads = attributes().pads;
    const int rank = x.dims.rank;
    TRIMTAB_CHECK(rank > 0 && pads.size == static_cast<uint32_t>(2 * rank),
                  "two pads per dimension are needed (pads, rank)", pads.size, rank);
    Dims& y = output().dims;
    y.rank = rank;
    const Dims physical = x.PhysicalDims();
    for (int i = 0; i < rank; ++i) {
      const int64_t before = pads[static_cast<size_t>(i)];
      const int64_t after = pads[static_cast<size_t>(rank + i)];
      TRIMTAB_CHECK(
          before >= -INT32_MAX && before <= INT32_MAX && after >= -INT32_MAX && after <= INT32_MAX,
          "pad is out of range (dimension)", i);
      const int64_t first = before < 0 ? -before : 0;
      const int64_t extent = x.dims[i] - first + (after < 0 ? after : 0);
      const int64_t length = x.dims[i] + before + after;
      TRIMTAB_CHECK(extent >= 0 && length <= INT32_MAX, "pad crops or adds too much (dimension)",
                    i);
      TRIMTAB_CHECK(extent > 0 || attributes().mode == PadMode::kConstant || length == 0,
                    "nothing to repeat (dimension)", i);
      y[i] = static_cast<int32_t>(length);
      const int axis = x.PhysicalAxis(i);
      ranges_[axis] = {before > 0 ? before : 0, first, extent,
                       physical.Count(axis + 1, physical.rank)};
    }
    SetFill();
    return Status();
  }

 private:
  // Input coordinate of result coordinate `i`; -1: the constant.
  int64_t Source(const Range& range, int64_t i) const {
    int64_t at = i - range.border;
    const int64_t n = range.extent;
    if (at < 0 || at >= n) {
      const int64_t period = 2 * (n - 1);
      switch (attributes().mode) {
        case PadMode::kConstant:
          return -1;
        case PadMode::kEdge:
          at = at < 0 ? 0 : n - 1;
          break;
        case PadMode::kReflect:
          if (at >= 1 - n && at <= period) {  // reflected once: no division
            at = at < 0 ? -at : period - at;
            break;
          }
          if (period == 0) {
            at = 0;
            break;
          }
          at %= period;
          if (at < 0) at += period;
          if (at >= n) at = period - at;
          break;
        case PadMode::kWrap:
          at %= n;
          if (at < 0) at += n;
          break;
      }
    }
    return at + range.first;
  }

  // Offset in the input of what plane `plane` of the result, along the first `count` axes, reads; -1
  // if the plane is constant.
  int64_t PlaneOffset(const Dims& shape, int count, size_t plane) const {
    int64_t offset = 0;
    for (int i = count - 1; i >= 0; --i) {
      const int64_t at =
          Source(ranges_[i], static_cast<int64_t>(plane % static_cast<size_t>(shape[i])));
      plane /= static_cast<size_t>(shape[i]);
      if (at < 0) return -1;
      offset += at * ranges_[i].stride;
    }
    return offset;
  }

  // Writes a border of a row, of which `line` is the input.
  void Border(uint8_t* row, const Side& side, const uint8_t* line, int64_t size) const {
    const PadMode mode = attributes().mode;
    const int64_t count = side.end - side.begin;
    const Range& range = ranges_[output().dims.rank - 1];
    uint8_t* const to = row + side.begin * size;
    if (mode == PadMode::kConstant || mode == PadMode::kEdge)
      return Fill(to, count, side.at < 0 ? fill_ : line + side.at * size, size);
    if (mode == PadMode::kReflect && count < range.extent)  // reflected once
      return Mirror(to, count, line + side.at * size, size);
    for (int64_t i = 0; i < count; ++i)
      CopyElement(to + i * size, line + Source(range, side.begin + i) * size,
                  static_cast<size_t>(size));
  }

  void SetFill() {
    const float value = attributes().value;
    // A float outside the range of int64 has no integer value; uses 0.
    const bool fits = value > -0x1p63f && value < 0x1p63f;
    const int64_t integer = fits ? static_cast<int64_t>(value) : 0;
    const uint16_t half = HalfFromFloat(value);
    const uint8_t truth = value != 0;
    const DType dtype = input(0).dtype;
    memcpy(fill_, &integer, sizeof(integer));  // little-endian: the low bytes come first
    if (dtype == DType::kF32) memcpy(fill_, &value, sizeof(value));
    if (dtype == DType::kF16) memcpy(fill_, &half, sizeof(half));
    if (dtype == DType::kBool) fill_[0] = truth;
  }

  Range ranges_[Dims::kMaxRank] = {};  // by physical axis
  uint8_t fill_[8] = {};
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Pad)
