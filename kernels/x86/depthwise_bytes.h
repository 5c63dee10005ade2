// The driver of the x86 int8 depthwise kernels: several taps of a channel are adjacent, so that one
// instruction multiplies and adds them all.
//
// A kernel supplies Taps: the constants kNr (channels), kGroup (adjacent taps) and kParts (vectors
// of sums); Bytes, a tap of all channels; Parts, kParts vectors of interleaved taps or of sums; and
//
//   Taps(channels)              number of channels present: kNr or fewer
//   Load(p), Weights(p)         a tap of the input, of the weights
//   SideBySide(taps)            interleaves Bytes [kGroup]
//   Add(sums, x, w)
//   Zeros()                      the representation of inputs of 0
//   Start(bias, excess)         initial sums; excess: the sums of Zeros
//   Scales(scale)
//   Finish(rounded, sums, tile, y)
#ifndef TRIMTAB_KERNELS_X86_DEPTHWISE_BYTES_H_
#define TRIMTAB_KERNELS_X86_DEPTHWISE_BYTES_H_

#include "kernels/generic/depthwise_few_channels.h"
#include "kernels/generic/depthwise_window.h"
#include "kernels/generic/unroll.h"

namespace {

constexpr size_t kMostGroups = 32;  // groups whose weights are prepared

using ProductRounding = RoundingOf<true>;

// True if sums times any of the scales fit 32 bits.
inline bool ProductsFit(const float* scale, size_t channels) {
  constexpr size_t kStep = kLanes / kQuarters;
  for (; channels >= kStep; channels -= kStep, scale += kStep)
    if (!AreSmall(LoadReals(scale))) return false;
  return channels == 0 || AreSmall(LoadRealsPart(scale, channels));
}

// True if tiles of channels can be formed, and their products are bounded.
template <class Taps>
inline bool TilesFit(const DepthwiseArgs<int8_t>& args) {
  return args.kernel_h * args.kernel_w <= kMostGroups * Taps::kGroup &&
         ProductsFit(args.scale, args.channels);
}

// One tile of channels.
template <class Taps>
struct ChannelTile {
  using Parts = typename Taps::Parts;
  using Bytes = typename Taps::Bytes;
  static constexpr size_t kGroup = Taps::kGroup;

  Parts start, scale, slope, w[kMostGroups];
  Taps taps;
  bool has_slope;

  // `at[g * kGroup + q]`: index of tap q of group g among the packed weights, or kNone.
  static constexpr uint16_t kNone = UINT16_MAX;
  ChannelTile(const DepthwiseArgs<int8_t>& args, const int8_t* packed, size_t c, size_t channels,
              const uint16_t* at, size_t groups)
      : taps(channels), has_slope(args.slope != nullptr) {
    Parts sums = {};
    for (size_t g = 0; g < groups; ++g) {
      Bytes group[kGroup];
      TRIMTAB_UNROLL
      for (size_t q = 0; q < kGroup; ++q) {
        const uint16_t place = at[g * kGroup + q];
        group[q] = place == kNone ? Bytes{} : Taps::Weights(packed + place * Taps::kNr);
      }
      w[g] = Taps::SideBySide(group);
      Taps::Add(&sums, Taps::Zeros(), w[g]);
    }
    start = taps.Start(args.bias + c, sums);
    scale = taps.Scales(args.scale + c);
    if (has_slope) slope = taps.Scales(args.slope + c);
  }
};

// Windows of kSize x kSize, 3 or 5, whose columns are groups: columns that the next pixel's window
// shares stay in registers. The last line, if it does not fit a group, forms groups of its own.
template <class Taps, int kSize, int kStep>
struct Window {
  using Parts = typename Taps::Parts;
  using Bytes = typename Taps::Bytes;
  static constexpr int kGroup = Taps::kGroup;
  static constexpr int kDown = kSize < kGroup ? kSize : kGroup;  // taps of a column per group
  static_assert(kSize <= kGroup + 1, "a group leaves one line at most");
  static constexpr size_t kGroups = kSize + (kDown < kSize ? (kSize + kGroup - 1) / kGroup : 0);

  // Index among a window's taps of tap q of group g, or kNone.
  static uint16_t Place(size_t g, size_t q) {
    const size_t column = g < kSize ? g : (g - kSize) * kGroup + q;
    const size_t line = g < kSize ? q : kDown;
    const bool is_there = column < kSize && line < (g < kSize ? kDown : kSize);
    return is_there ? static_cast<uint16_t>(line * kSize + column) : ChannelTile<Taps>::kNone;
  }

  const ProductRounding rounded;  // a copy, because stores of bytes might alias the original
  Parts columns[kSize];           // a ring: the window's first column may be any of them
  const ChannelTile<Taps>& tile;
  size_t column, offset, y_stride;
  const int8_t* const* a;  // pointers of the next column
  int8_t* y;

  inline Parts Load() {
    Bytes taps[kGroup] = {};
    TRIMTAB_UNROLL
    for (int i = 0; i < kDown; ++i) taps[i] = tile.taps.Load(a[i] + offset);
    a += column;
    return Taps::SideBySide(taps);
  }
  // Computes the next pixel, whose window begins with column kFirst.
  template <int kFirst>
  inline void Next() {
    TRIMTAB_UNROLL
    for (int i = kSize - kStep; i < kSize; ++i) columns[(kFirst + i) % kSize] = Load();
    Parts sums = tile.start;
    TRIMTAB_UNROLL
    for (int i = 0; i < kSize; ++i) Taps::Add(&sums, columns[(kFirst + i) % kSize], tile.w[i]);
    if constexpr (kDown < kSize) {
      const int8_t* const* last = a - kSize * column + kDown;
      TRIMTAB_UNROLL
      for (int g = 0; g < static_cast<int>(kGroups) - kSize; ++g) {
        Bytes taps[kGroup] = {};
        TRIMTAB_UNROLL
        for (int q = 0; q < kGroup && g * kGroup + q < kSize; ++q, last += column)
          taps[q] = tile.taps.Load(*last + offset);
        Taps::Add(&sums, Taps::SideBySide(taps), tile.w[kSize + g]);
      }
    }
    tile.taps.Finish(rounded, sums, tile, y);
    y += y_stride;
  }
  // Computes pixels until the first column of the ring is kFirst = 0 again; true if all are done.
  template <int kTurn>
  inline bool Turn(size_t* pixels) {
    Next<kTurn * kStep % kSize>();
    if (--*pixels == 0) return true;
    if constexpr (kTurn + 1 < kSize) return Turn<kTurn + 1>(pixels);
    return false;
  }
  inline void Line(size_t pixels) {
    TRIMTAB_UNROLL
    for (int i = 0; i < kSize - kStep; ++i) columns[i] = Load();
    while (!Turn<0>(&pixels)) {
    }
  }
};

template <class Taps, int kSize, int kStep>
__attribute__((noinline)) void Lines(const DepthwiseArgs<int8_t>& args,
                                     const ChannelTile<Taps>& tile, const ProductRounding& rounded,
                                     size_t c, const size_t*, size_t) {
  for (size_t r = 0; r < args.rows; ++r) {
    Window<Taps, kSize, kStep> window = {rounded,
                                         {},
                                         tile,
                                         args.column,
                                         c,
                                         args.y_stride,
                                         args.a + r * args.step_h,
                                         args.y + r * args.y_row_stride + c};
    window.Line(args.pixels);
  }
}

// `from[g * kGroup + q]`: offset of the pointer to that tap from a pixel's first pointer.
template <class Taps>
__attribute__((noinline)) void AnyWindow(const DepthwiseArgs<int8_t>& args,
                                         const ChannelTile<Taps>& tile,
                                         const ProductRounding& rounded, size_t c,
                                         const size_t* from, size_t groups) {
  for (size_t r = 0; r < args.rows; ++r) {
    const int8_t* const* a = args.a + r * args.step_h;
    int8_t* y = args.y + r * args.y_row_stride + c;
    for (size_t p = args.pixels; p > 0; --p, a += args.step_w * args.column, y += args.y_stride) {
      typename Taps::Parts sums = tile.start;
      const size_t* place = from;
      for (size_t g = 0; g < groups; ++g) {
        typename Taps::Bytes taps[Taps::kGroup];
        TRIMTAB_UNROLL
        for (size_t q = 0; q < Taps::kGroup; ++q) taps[q] = tile.taps.Load(a[*place++] + c);
        Taps::Add(&sums, Taps::SideBySide(taps), tile.w[g]);
      }
      tile.taps.Finish(rounded, sums, tile, y);
    }
  }
}

// One tap at a time, kTaps of them; 0: any number.
template <class Taps, size_t kTaps>
__attribute__((noinline)) void TapsOfLines(const DepthwiseArgs<int8_t>& args,
                                           const ChannelTile<Taps>& tile,
                                           const ProductRounding& rounded,
                                           const int8_t* const* lines, size_t channels) {
  constexpr size_t kGroup = Taps::kGroup;
  const size_t taps = kTaps > 0 ? kTaps : args.kernel_h * args.kernel_w;
  for (size_t r = 0; r < args.rows; ++r, lines += args.step_h) {
    const int8_t* tap[kMostGroups * kGroup];
    for (size_t t = 0; t < taps; ++t)
      tap[t] = lines[t / args.kernel_w] + t % args.kernel_w * channels;
    int8_t* y = args.y + r * args.y_row_stride;
    for (size_t at = 0; at < args.pixels * Taps::kNr; at += Taps::kNr) {
      typename Taps::Parts sums = tile.start;
      TRIMTAB_UNROLL
      for (size_t t = 0; t < taps; t += kGroup) {
        typename Taps::Bytes group[kGroup] = {};
        TRIMTAB_UNROLL
        for (size_t q = 0; q < kGroup; ++q)
          if (t + q < taps) group[q] = tile.taps.Load(tap[t + q] + at);
        Taps::Add(&sums, Taps::SideBySide(group), tile.w[t / kGroup]);
      }
      tile.taps.Finish(rounded, sums, tile, y + at);
    }
  }
}

// Defined in WideDepthwise.
template <class Taps>
inline void DepthwiseLines(const DepthwiseArgs<int8_t>& args, const int8_t* const* lines,
                           size_t channels) {
  constexpr size_t kGroup = Taps::kGroup, kMost = kMostGroups * kGroup;
  const size_t taps = args.kernel_h * args.kernel_w;
  uint16_t at[kMost];
  for (size_t t = 0; t < kMost; ++t)
    at[t] = t < taps ? static_cast<uint16_t>(t) : ChannelTile<Taps>::kNone;
  const ChannelTile<Taps> tile(args, args.w, 0, Taps::kNr, at, (taps + kGroup - 1) / kGroup);
  const auto run = taps == 9 ? TapsOfLines<Taps, 9> : TapsOfLines<Taps, 0>;
  run(args, tile, ProductRounding(args), lines, channels);
}

// How a window is computed: which taps are adjacent, and the function that iterates over pixels.
template <class Taps>
struct Way {
  size_t groups;
  uint16_t (*place)(size_t g, size_t q);  // nullptr: one tap at a time
  void (*run)(const DepthwiseArgs<int8_t>& args, const ChannelTile<Taps>& tile,
              const ProductRounding& rounded, size_t c, const size_t* from, size_t groups);
};

template <class Taps, int kSize, int kStep>
inline Way<Taps> ColumnWay() {
  using Columns = Window<Taps, kSize, kStep>;
  return {Columns::kGroups, Columns::Place, Lines<Taps, kSize, kStep>};
}

template <class Taps>
inline Way<Taps> WayFor(const DepthwiseArgs<int8_t>& args) {
  if constexpr (Taps::kGroup > 3) {
    if (IsWindow<3, 1>(args)) return ColumnWay<Taps, 3, 1>();
    if (IsWindow<3, 2>(args)) return ColumnWay<Taps, 3, 2>();
    if (IsWindow<5, 1>(args)) return ColumnWay<Taps, 5, 1>();
    if (IsWindow<5, 2>(args)) return ColumnWay<Taps, 5, 2>();
  }
  const size_t taps = args.kernel_h * args.kernel_w;
  return {(taps + Taps::kGroup - 1) / Taps::kGroup, nullptr, AnyWindow<Taps>};
}

template <class Taps>
inline void DepthwiseBytes(const DepthwiseArgs<int8_t>& original) {
  constexpr size_t kGroup = Taps::kGroup, kNr = Taps::kNr;
  constexpr uint16_t kNone = ChannelTile<Taps>::kNone;
  DepthwiseArgs<int8_t> args = original;
  args.nr = kNr;
  const size_t taps = args.kernel_h * args.kernel_w;
  if (args.pixels == 0) return;
  if (!TilesFit<Taps>(args)) return DepthwiseBytesOneByOne(args);
  const Way<Taps> way = WayFor<Taps>(args);
  uint16_t at[kMostGroups * kGroup] = {};
  size_t from[kMostGroups * kGroup];
  for (size_t t = 0; t < way.groups * kGroup; ++t) {
    at[t] = way.place != nullptr ? way.place(t / kGroup, t % kGroup)
            : t < taps           ? static_cast<uint16_t>(t)
                                 : kNone;
    const size_t place = at[t] == kNone ? 0 : at[t];
    from[t] = place % args.kernel_w * args.column + place / args.kernel_w;
  }
  const ProductRounding rounded(args);
  const size_t last = args.channels < kNr ? 0 : args.channels - kNr;
  const int8_t* w = args.w;
  for (size_t begin = 0; begin < args.channels; begin += kNr, w += kNr * taps) {
    const size_t c = begin < last ? begin : last;
    const size_t channels = args.channels < kNr ? args.channels : kNr;
    const ChannelTile<Taps> tile(args, w, c, channels, at, way.groups);
    way.run(args, tile, rounded, c, from, way.groups);
  }
}

// The same for fewer channels than kNr.
template <class Taps>
inline void DepthwiseBytesOfFew(const DepthwiseArgs<int8_t>& args) {
  if (!TilesFit<Taps>(args)) return DepthwiseBytesOneByOne(args);
  DepthwiseFewChannels<Taps::kNr>(args, {DepthwiseBytes<Taps>, DepthwiseLines<Taps>});
}

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_DEPTHWISE_BYTES_H_
