// The driver of the x86 int8 depthwise kernels: several taps of a channel are adjacent, so that one
// instruction multiplies and adds them all.
//
// A kernel supplies Taps: the constants kNr (channels), kGroup (adjacent taps); TapVector, a
// tap of all channels; Vectors, the vectors of interleaved taps, or of the sums; and
//
//   Taps(channels)              number of channels present: kNr or fewer
//   Load(p), Weights(p)         a tap of the input, of the weights
//   Interleave(taps)            interleaves TapVector [kGroup]
//   Add(sums, x, w)
//   Zeros()                      the representation of inputs of 0
//   Start(bias, excess)         initial sums; excess: the sums of Zeros
//   Scales(scale)
//   Finish(quantize, sums, tile, y)
#ifndef TRIMTAB_KERNELS_X86_DEPTHWISE_I8_H_
#define TRIMTAB_KERNELS_X86_DEPTHWISE_I8_H_

#include "kernels/generic/depthwise_few_channels.h"
#include "kernels/generic/depthwise_window.h"
#include "kernels/generic/unroll.h"

namespace {

constexpr size_t kMaxGroups = 32;  // groups whose weights are prepared

using ProductQuantizer = QuantizerOf<true>;

// True if sums times any of the scales fit 32 bits.
inline bool ProductsFit(const float* scale, size_t channels) {
  constexpr size_t kStep = kLanes / kQuarters;
  for (; channels >= kStep; channels -= kStep, scale += kStep)
    if (!AllAbsBelowOne(LoadF32(scale))) return false;
  return channels == 0 || AllAbsBelowOne(LoadPartialF32(scale, channels));
}

// True if tiles of channels can be formed, and their products are bounded.
template <class Taps>
inline bool TilesFit(const DepthwiseArgs<int8_t>& args) {
  return args.kernel_h * args.kernel_w <= kMaxGroups * Taps::kGroup &&
         ProductsFit(args.scale, args.channels);
}

// One tile of channels.
template <class Taps>
struct ChannelTile {
  using Vectors = typename Taps::Vectors;
  using TapVector = typename Taps::TapVector;
  static constexpr size_t kGroup = Taps::kGroup;

  Vectors start, scale, slope, w[kMaxGroups];
  Taps taps;
  bool has_slope;

  // `at[g * kGroup + q]`: index of tap q of group g among the packed weights, or kNone.
  static constexpr uint16_t kNone = UINT16_MAX;
  ChannelTile(const DepthwiseArgs<int8_t>& args, const int8_t* packed, size_t c, size_t channels,
              const uint16_t* at, size_t groups)
      : taps(channels), has_slope(args.slope != nullptr) {
    Vectors sums = {};
    for (size_t g = 0; g < groups; ++g) {
      TapVector group[kGroup];
      TRIMTAB_UNROLL
      for (size_t q = 0; q < kGroup; ++q) {
        const uint16_t tap_index = at[g * kGroup + q];
        group[q] = tap_index == kNone ? TapVector{} : Taps::Weights(packed + tap_index * Taps::kNr);
      }
      w[g] = Taps::Interleave(group);
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
  using Vectors = typename Taps::Vectors;
  using TapVector = typename Taps::TapVector;
  static constexpr int kGroup = Taps::kGroup;
  static constexpr int kDown = kSize < kGroup ? kSize : kGroup;  // taps of a column per group
  static_assert(kSize <= kGroup + 1, "a group leaves one line at most");
  static constexpr size_t kGroups = kSize + (kDown < kSize ? (kSize + kGroup - 1) / kGroup : 0);

  // Index among a window's taps of tap q of group g, or kNone.
  static uint16_t TapIndex(size_t g, size_t q) {
    const size_t column = g < kSize ? g : (g - kSize) * kGroup + q;
    const size_t line = g < kSize ? q : kDown;
    const bool is_there = column < kSize && line < (g < kSize ? kDown : kSize);
    return is_there ? static_cast<uint16_t>(line * kSize + column) : ChannelTile<Taps>::kNone;
  }

  const ProductQuantizer quantize;  // a copy, because stores of bytes might alias the original
  Vectors columns[kSize];           // a ring: the window's first column may be any of them
  const ChannelTile<Taps>& tile;
  size_t column, offset, y_stride;
  const int8_t* const* a;  // pointers of the next column
  int8_t* y;

  inline Vectors Load() {
    TapVector taps[kGroup] = {};
    TRIMTAB_UNROLL
    for (int i = 0; i < kDown; ++i) taps[i] = tile.taps.Load(a[i] + offset);
    a += column;
    return Taps::Interleave(taps);
  }
  // Computes the next pixel, whose window begins with column kFirst.
  template <int kFirst>
  inline void ComputePixel() {
    TRIMTAB_UNROLL
    for (int i = kSize - kStep; i < kSize; ++i) columns[(kFirst + i) % kSize] = Load();
    Vectors sums = tile.start;
    TRIMTAB_UNROLL
    for (int i = 0; i < kSize; ++i) Taps::Add(&sums, columns[(kFirst + i) % kSize], tile.w[i]);
    if constexpr (kDown < kSize) {
      const int8_t* const* last = a - kSize * column + kDown;
      TRIMTAB_UNROLL
      for (int g = 0; g < static_cast<int>(kGroups) - kSize; ++g) {
        TapVector taps[kGroup] = {};
        TRIMTAB_UNROLL
        for (int q = 0; q < kGroup && g * kGroup + q < kSize; ++q, last += column)
          taps[q] = tile.taps.Load(*last + offset);
        Taps::Add(&sums, Taps::Interleave(taps), tile.w[kSize + g]);
      }
    }
    tile.taps.Finish(quantize, sums, tile, y);
    y += y_stride;
  }
  // Computes pixels until the first column of the ring is kFirst = 0 again; true if all are done.
  template <int kPosition>
  inline bool RunRing(size_t* pixels) {
    ComputePixel<kPosition * kStep % kSize>();
    if (--*pixels == 0) return true;
    if constexpr (kPosition + 1 < kSize) return RunRing<kPosition + 1>(pixels);
    return false;
  }
  inline void RunLine(size_t pixels) {
    TRIMTAB_UNROLL
    for (int i = 0; i < kSize - kStep; ++i) columns[i] = Load();
    while (!RunRing<0>(&pixels)) {
    }
  }
};

template <class Taps, int kSize, int kStep>
__attribute__((noinline)) void RunWindows(const DepthwiseArgs<int8_t>& args,
                                          const ChannelTile<Taps>& tile,
                                          const ProductQuantizer& quantize, size_t c, const size_t*,
                                          size_t) {
  for (size_t r = 0; r < args.rows; ++r) {
    Window<Taps, kSize, kStep> window = {quantize,
                                         {},
                                         tile,
                                         args.column,
                                         c,
                                         args.y_stride,
                                         args.a + r * args.step_h,
                                         args.y + r * args.y_row_stride + c};
    window.RunLine(args.pixels);
  }
}

// `from[g * kGroup + q]`: offset of the pointer to that tap from a pixel's first pointer.
template <class Taps>
__attribute__((noinline)) void AnyWindow(const DepthwiseArgs<int8_t>& args,
                                         const ChannelTile<Taps>& tile,
                                         const ProductQuantizer& quantize, size_t c,
                                         const size_t* from, size_t groups) {
  for (size_t r = 0; r < args.rows; ++r) {
    const int8_t* const* a = args.a + r * args.step_h;
    int8_t* y = args.y + r * args.y_row_stride + c;
    for (size_t p = args.pixels; p > 0; --p, a += args.step_w * args.column, y += args.y_stride) {
      typename Taps::Vectors sums = tile.start;
      const size_t* offset = from;
      for (size_t g = 0; g < groups; ++g) {
        typename Taps::TapVector taps[Taps::kGroup];
        TRIMTAB_UNROLL
        for (size_t q = 0; q < Taps::kGroup; ++q) taps[q] = tile.taps.Load(a[*offset++] + c);
        Taps::Add(&sums, Taps::Interleave(taps), tile.w[g]);
      }
      tile.taps.Finish(quantize, sums, tile, y);
    }
  }
}

// One tap at a time, kTaps of them; 0: any number.
template <class Taps, size_t kTaps>
__attribute__((noinline)) void ContiguousPixels(const DepthwiseArgs<int8_t>& args,
                                                const ChannelTile<Taps>& tile,
                                                const ProductQuantizer& quantize,
                                                const int8_t* const* lines, size_t channels) {
  constexpr size_t kGroup = Taps::kGroup;
  const size_t taps = kTaps > 0 ? kTaps : args.kernel_h * args.kernel_w;
  for (size_t r = 0; r < args.rows; ++r, lines += args.step_h) {
    const int8_t* tap[kMaxGroups * kGroup];
    for (size_t t = 0; t < taps; ++t)
      tap[t] = lines[t / args.kernel_w] + t % args.kernel_w * channels;
    int8_t* y = args.y + r * args.y_row_stride;
    for (size_t at = 0; at < args.pixels * Taps::kNr; at += Taps::kNr) {
      typename Taps::Vectors sums = tile.start;
      TRIMTAB_UNROLL
      for (size_t t = 0; t < taps; t += kGroup) {
        typename Taps::TapVector group[kGroup] = {};
        TRIMTAB_UNROLL
        for (size_t q = 0; q < kGroup; ++q)
          if (t + q < taps) group[q] = tile.taps.Load(tap[t + q] + at);
        Taps::Add(&sums, Taps::Interleave(group), tile.w[t / kGroup]);
      }
      tile.taps.Finish(quantize, sums, tile, y + at);
    }
  }
}

// Defined in DepthwiseFunctions.
template <class Taps>
inline void DepthwiseContiguous(const DepthwiseArgs<int8_t>& args, const int8_t* const* lines,
                                size_t channels) {
  constexpr size_t kGroup = Taps::kGroup, kMaxTaps = kMaxGroups * kGroup;
  const size_t taps = args.kernel_h * args.kernel_w;
  uint16_t at[kMaxTaps];
  for (size_t t = 0; t < kMaxTaps; ++t)
    at[t] = t < taps ? static_cast<uint16_t>(t) : ChannelTile<Taps>::kNone;
  const ChannelTile<Taps> tile(args, args.w, 0, Taps::kNr, at, (taps + kGroup - 1) / kGroup);
  const auto run = taps == 9 ? ContiguousPixels<Taps, 9> : ContiguousPixels<Taps, 0>;
  run(args, tile, ProductQuantizer(args), lines, channels);
}

// How a window is computed: which taps are adjacent, and the function that iterates over pixels.
template <class Taps>
struct Schedule {
  size_t groups;
  uint16_t (*tap_index)(size_t g, size_t q);  // nullptr: one tap at a time
  void (*run)(const DepthwiseArgs<int8_t>& args, const ChannelTile<Taps>& tile,
              const ProductQuantizer& quantize, size_t c, const size_t* from, size_t groups);
};

template <class Taps, int kSize, int kStep>
inline Schedule<Taps> ColumnSchedule() {
  using Columns = Window<Taps, kSize, kStep>;
  return {Columns::kGroups, Columns::TapIndex, RunWindows<Taps, kSize, kStep>};
}

template <class Taps>
inline Schedule<Taps> ScheduleFor(const DepthwiseArgs<int8_t>& args) {
  if constexpr (Taps::kGroup > 3) {
    if (IsWindow<3, 1>(args)) return ColumnSchedule<Taps, 3, 1>();
    if (IsWindow<3, 2>(args)) return ColumnSchedule<Taps, 3, 2>();
    if (IsWindow<5, 1>(args)) return ColumnSchedule<Taps, 5, 1>();
    if (IsWindow<5, 2>(args)) return ColumnSchedule<Taps, 5, 2>();
  }
  const size_t taps = args.kernel_h * args.kernel_w;
  return {(taps + Taps::kGroup - 1) / Taps::kGroup, nullptr, AnyWindow<Taps>};
}

template <class Taps>
inline void DepthwiseI8(const DepthwiseArgs<int8_t>& original) {
  constexpr size_t kGroup = Taps::kGroup, kNr = Taps::kNr;
  constexpr uint16_t kNone = ChannelTile<Taps>::kNone;
  DepthwiseArgs<int8_t> args = original;
  args.nr = kNr;
  const size_t taps = args.kernel_h * args.kernel_w;
  if (args.pixels == 0) return;
  if (!TilesFit<Taps>(args)) return DepthwiseI8Scalar(args);
  const Schedule<Taps> schedule = ScheduleFor<Taps>(args);
  uint16_t at[kMaxGroups * kGroup] = {};
  size_t from[kMaxGroups * kGroup];
  for (size_t t = 0; t < schedule.groups * kGroup; ++t) {
    at[t] = schedule.tap_index != nullptr ? schedule.tap_index(t / kGroup, t % kGroup)
            : t < taps                    ? static_cast<uint16_t>(t)
                                          : kNone;
    const size_t tap_index = at[t] == kNone ? 0 : at[t];
    from[t] = tap_index % args.kernel_w * args.column + tap_index / args.kernel_w;
  }
  const ProductQuantizer quantize(args);
  const size_t last = args.channels < kNr ? 0 : args.channels - kNr;
  const int8_t* w = args.w;
  for (size_t begin = 0; begin < args.channels; begin += kNr, w += kNr * taps) {
    const size_t c = begin < last ? begin : last;
    const size_t channels = args.channels < kNr ? args.channels : kNr;
    const ChannelTile<Taps> tile(args, w, c, channels, at, schedule.groups);
    schedule.run(args, tile, quantize, c, from, schedule.groups);
  }
}

// The same for fewer channels than kNr.
template <class Taps>
inline void DepthwiseI8FewChannels(const DepthwiseArgs<int8_t>& args) {
  if (!TilesFit<Taps>(args)) return DepthwiseI8Scalar(args);
  DepthwiseFewChannels<Taps::kNr>(args, {DepthwiseI8<Taps>, DepthwiseContiguous<Taps>});
}

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_DEPTHWISE_I8_H_
