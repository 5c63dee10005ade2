// Pixels of a camera's frame, weighted and added to the channels of a row, over vectors.
#ifndef TRIMTAB_KERNELS_GENERIC_CAMERA_ROW_H_
#define TRIMTAB_KERNELS_GENERIC_CAMERA_ROW_H_

#include "kernels/generic/family.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

// Bytes 1 and 2 of a pixel, which are neighbors, as in NV12.
struct InterleavedBytes {
  const uint8_t* row;
  uint32_t operator()(ptrdiff_t at) const {
    uint16_t two;
    __builtin_memcpy(&two, row + at, sizeof(two));
    return two;
  }
};

struct PlanarBytes {
  const uint8_t *row1, *row2;
  uint32_t operator()(ptrdiff_t at) const {
    return row1[at] | static_cast<uint32_t>(row2[at]) << 8;
  }
};

// Writes the words of pixels. The offsets of four are read before a word is written, which might
// alias them for all that the compiler knows.
template <typename Others>
inline void GatherWords(const CameraRowArgs<Element>& args, size_t begin, size_t end,
                        const Others& others) {
  constexpr int kStep = 4;
  static_assert(kCameraUnit % kStep == 0, "ranges are multiples of the unit");
  const uint8_t* const row = args.rows[0];
  TRIMTAB_NO_UNROLL
  for (size_t i = begin; i < end; i += kStep) {
    int32_t first[kStep], second[kStep];
    uint32_t words[kStep];
    TRIMTAB_UNROLL
    for (int j = 0; j < kStep; ++j) first[j] = args.offsets[0][i + j];
    TRIMTAB_UNROLL
    for (int j = 0; j < kStep; ++j) second[j] = args.offsets[1][i + j];
    TRIMTAB_UNROLL
    for (int j = 0; j < kStep; ++j) words[j] = row[first[j]] | others(second[j]) << 8;
    TRIMTAB_UNROLL
    for (int j = 0; j < kStep; ++j) args.words[i + j] = words[j];
  }
}

// The pixels from `begin` to `end`, multiples of kCameraUnit.
inline void GatherPixels(const CameraRowArgs<Element>& args, size_t begin, size_t end) {
  const uint8_t *const row1 = args.rows[1], *const row2 = args.rows[2];
  if (row2 == row1 + 1) return GatherWords(args, begin, end, InterleavedBytes{row1});
  GatherWords(args, begin, end, PlanarBytes{row1, row2});
}

template <int kByte>
inline F PixelByte(I word) {
  if (kByte == 0) return ToFloat(word & SetBits(0xff));
  if (kByte == 2) return ToFloat(ShiftRight<16>(word));  // there is no fourth byte
  return ToFloat(ShiftRight<8 * (kByte == 0 ? 1 : kByte)>(word) & SetBits(0xff));
}

// A whole number from 0 to 255.
inline F Channel(F v) { return Max(Min(RoundToNearest(v), Set(255.0f)), Set(0.0f)); }

// Adds pixels, of which f(word, v) computes kChannels values.
template <int kChannels, typename Function>
inline void AddPixels(const CameraRowArgs<Element>& args, const Function& f) {
  TRIMTAB_NO_UNROLL
  for (size_t i = 0; i < args.n; i += kLanes) {
    F sum[kChannels];
    TRIMTAB_UNROLL
    for (int c = 0; c < kChannels; ++c) sum[c] = Set(0.0f);
    TRIMTAB_NO_UNROLL
    for (size_t t = 0; t < args.taps; ++t) {
      F v[kChannels];
      f(LoadWords(args.words + t * args.n + i), v);
      const F w = Load(args.w + t * args.n + i);
      TRIMTAB_UNROLL
      for (int c = 0; c < kChannels; ++c) sum[c] = Fma(v[c], w, sum[c]);
    }
    TRIMTAB_UNROLL
    for (int c = 0; c < kChannels; ++c) {
      const F before = args.is_first ? Set(args.base[c]) : Load(args.y[c] + i);
      sum[c] = Fma(sum[c], Set(args.factor[c]), before);
    }
    if (kChannels == 3 && args.z != nullptr) {
      const int last = kChannels - 1;
      StoreInterleaved(args.z + 3 * i, args.reverses ? sum[last] : sum[0], sum[last / 2],
                       args.reverses ? sum[0] : sum[last]);
    } else {
      TRIMTAB_UNROLL
      for (int c = 0; c < kChannels; ++c) Store(args.y[c] + i, sum[c]);
    }
  }
}

// Adds the pixels of args.words.
inline void AddWords(const CameraRowArgs<Element>& original) {
  const CameraRowArgs<Element> args = original;  // stores might alias it
  const float* const weight = args.weight;
  if (args.colors == kCameraBytes) {
    AddPixels<3>(args, [](I word, F(&v)[3]) {
      v[0] = PixelByte<0>(word);
      v[1] = PixelByte<1>(word);
      v[2] = PixelByte<2>(word);
    });
  } else if (args.colors == kCameraYuv) {
    AddPixels<3>(args, [&](I word, F(&v)[3]) {
      const F b0 = Max(PixelByte<0>(word) - Set(args.black), Set(0.0f)) * Set(weight[0]);
      const F b1 = PixelByte<1>(word) - Set(128.0f), b2 = PixelByte<2>(word) - Set(128.0f);
      v[0] = Channel(Fma(b2, Set(weight[1]), b0));
      v[1] = Channel(Fma(b2, Set(weight[3]), Fma(b1, Set(weight[2]), b0)));
      v[2] = Channel(Fma(b1, Set(weight[4]), b0));
    });
  } else {
    AddPixels<1>(args, [&](I word, F(&v)[1]) {
      const F b0 = Max(PixelByte<0>(word) - Set(args.black), Set(0.0f)) * Set(weight[0]);
      v[0] = Channel(
          Fma(PixelByte<2>(word), Set(weight[2]), Fma(PixelByte<1>(word), Set(weight[1]), b0)));
    });
  }
}

TRIMTAB_FAMILY(u8)
inline void CameraRow(const CameraRowArgs<Element>& args) {
  GatherPixels(args, 0, args.taps * args.n);
  AddWords(args);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_CAMERA_ROW_H_
