// Steps over the channels of Winograd transforms.
#ifndef TRIMTAB_KERNELS_GENERIC_NEXT_CHANNELS_H_
#define TRIMTAB_KERNELS_GENERIC_NEXT_CHANNELS_H_

#include "kernels/kernel_api.h"

namespace {

// Start of the next `kWidth` channels: the last ones of a row overlap the previous ones, which
// computes some channels twice and needs no code for partial vectors.
template <size_t kWidth>
inline size_t NextChannels(size_t c, size_t channels) {
  static_assert(kWidth <= kMinWinogradChannels, "a row would be shorter than a step");
  c += kWidth;
  return c < channels && c + kWidth > channels ? channels - kWidth : c;
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_NEXT_CHANNELS_H_
