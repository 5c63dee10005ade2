// The frame of the x86 depthwise kernels of bytes: several taps of a channel lie side by side, so that
// an instruction multiplies and adds them all.
//
// A kernel supplies Taps: the constants kNr (channels), kGroup (taps side by side) and kParts
// (vectors of sums); Bytes, a tap of all channels, and Parts, kParts vectors of them side by side or
// of sums; and
//
//   Taps(channels)              those that there are: kNr, or as few as it takes
//   Load(p), Weights(p)         a tap of the input, of the weights
//   SideBySide(taps)            of Bytes [kGroup]
//   Add(sums, x, w)
//   Zeros()                      what inputs of 0 are loaded as
//   Start(bias, excess)         sums that products are added to; excess: those of Zeros
//   Scales(scale)
//   Finish(rounded, sums, scale, y)
#ifndef TRIMTAB_KERNELS_X86_DEPTHWISE_BYTES_H_
#define TRIMTAB_KERNELS_X86_DEPTHWISE_BYTES_H_

#include "kernels/generic/depthwise_few_channels.h"
#include "kernels/generic/unroll.h"

namespace {

constexpr size_t kMostGroups = 32;  // whose weights lie ready

// One tile of channels.
template <class Taps>
struct ChannelTile {
  using Parts = typename Taps::Parts;
  using Bytes = typename Taps::Bytes;
  static constexpr size_t kGroup = Taps::kGroup;

  Taps taps;
  Parts start, scale, w[kMostGroups];

  // `at[g * kGroup + q]`: the place of tap q of group g among the packed weights, or kNone.
  static constexpr uint16_t kNone = UINT16_MAX;
  ChannelTile(const DepthwiseArgs<int8_t>& args, const int8_t* packed, size_t c, size_t channels,
              const uint16_t* at, size_t groups)
      : taps(channels) {
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
  }
};

// Windows of 3x3 whose columns are groups: those that the next pixel's window shares stay in
// registers.
template <class Taps, int kStep>
struct Window3x3 {
  using Parts = typename Taps::Parts;
  const ChannelTile<Taps>& tile;
  const Rounding rounded;  // copies, these, which stores of bytes cannot change
  const Parts w[3];
  size_t column, offset, y_stride;
  const int8_t* const* a;  // pointers of the next column
  int8_t* y;

  inline Parts Load() {
    typename Taps::Bytes taps[Taps::kGroup] = {};
    TRIMTAB_UNROLL
    for (int i = 0; i < 3; ++i) taps[i] = tile.taps.Load(a[i] + offset);
    a += column;
    return Taps::SideBySide(taps);
  }
  // The next pixel, whose window begins with the column `first`, and has columns that are new.
  inline void Next(const Parts& first, Parts& second, Parts& third) {
    if (kStep == 2) second = Load();
    third = Load();
    Parts sums = tile.start;
    Taps::Add(&sums, first, w[0]);
    Taps::Add(&sums, second, w[1]);
    Taps::Add(&sums, third, w[2]);
    tile.taps.Finish(rounded, sums, tile.scale, y);
    y += y_stride;
  }
  inline void Line(size_t pixels) {
    Parts one = Load(), two = {}, three = {};
    if (kStep == 1) two = Load();
    for (;;) {
      Next(one, two, three);
      if (--pixels == 0) return;
      kStep == 1 ? Next(two, three, one) : Next(three, one, two);
      if (--pixels == 0) return;
      kStep == 1 ? Next(three, one, two) : Next(two, three, one);
      if (--pixels == 0) return;
    }
  }
};

template <class Taps, int kStep>
__attribute__((noinline)) void Threes(const DepthwiseArgs<int8_t>& args,
                                      const ChannelTile<Taps>& tile, const Rounding& rounded,
                                      size_t c) {
  for (size_t r = 0; r < args.rows; ++r) {
    Window3x3<Taps, kStep> window = {
        tile, rounded,       {tile.w[0], tile.w[1], tile.w[2]}, args.column,
        c,    args.y_stride, args.a + r * args.step_h,          args.y + r * args.y_row_stride + c};
    window.Line(args.pixels);
  }
}

// `from[g * kGroup + q]`: where the pointer to that tap stands, seen from the first one of a pixel.
template <class Taps>
__attribute__((noinline)) void AnyWindow(const DepthwiseArgs<int8_t>& args,
                                         const ChannelTile<Taps>& tile, const Rounding& rounded,
                                         size_t c, const size_t* from, size_t groups) {
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
      tile.taps.Finish(rounded, sums, tile.scale, y);
    }
  }
}

template <class Taps>
inline void DepthwiseBytes(const DepthwiseArgs<int8_t>& given) {
  constexpr size_t kGroup = Taps::kGroup, kNr = Taps::kNr;
  DepthwiseArgs<int8_t> args = given;
  args.nr = kNr;
  const size_t taps = args.kernel_h * args.kernel_w;
  const bool threes = kGroup > 3 && args.kernel_h == 3 && args.kernel_w == 3 && args.step_w <= 2;
  if (args.pixels == 0) return;
  if (taps > kMostGroups * kGroup) return DepthwiseBytesOneByOne(args);
  uint16_t at[kMostGroups * kGroup] = {};
  size_t from[kMostGroups * kGroup];
  const size_t groups = threes ? 3 : (taps + kGroup - 1) / kGroup;
  for (size_t t = 0; t < groups * kGroup; ++t) {
    const size_t line = t % kGroup;
    const size_t place = threes ? line * 3 + t / kGroup : t;
    const bool is_there = threes ? line < 3 : t < taps;
    at[t] = is_there ? static_cast<uint16_t>(place) : ChannelTile<Taps>::kNone;
    from[t] = is_there ? place % args.kernel_w * args.column + place / args.kernel_w : 0;
  }
  const Rounding rounded(args);
  const size_t last = args.channels < kNr ? 0 : args.channels - kNr;
  const int8_t* w = args.w;
  for (size_t begin = 0; begin < args.channels; begin += kNr, w += kNr * taps) {
    const size_t c = begin < last ? begin : last;
    const size_t channels = args.channels < kNr ? args.channels : kNr;
    const ChannelTile<Taps> tile(args, w, c, channels, at, groups);
    if constexpr (kGroup > 3) {
      if (threes) {
        const auto window = args.step_w == 1 ? Threes<Taps, 1> : Threes<Taps, 2>;
        window(args, tile, rounded, c);
        continue;
      }
    }
    AnyWindow(args, tile, rounded, c, from, groups);
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_DEPTHWISE_BYTES_H_
