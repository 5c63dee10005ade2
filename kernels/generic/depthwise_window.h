// Windows of depthwise convolutions that a kernel has fast code for, in binaries that need it.
#ifndef TRIMTAB_KERNELS_GENERIC_DEPTHWISE_WINDOW_H_
#define TRIMTAB_KERNELS_GENERIC_DEPTHWISE_WINDOW_H_

#include "generated/windows.h"
#include "kernels/kernel_api.h"

namespace {

// True for windows of kSize x kSize with this horizontal stride. A constant false, which removes
// the code that depends on it, if no model of the binary has them.
template <int kSize, int kStride, typename T>
inline bool IsWindow(const DepthwiseArgs<T>& args) {
  return trimtab::HasWindow(kSize, kSize, kStride) && args.kernel_h == kSize &&
         args.kernel_w == kSize && args.step_w == kStride;
}

// The same for fewer channels than the kernel computes at once.
template <int kSize, int kStride, typename T>
inline bool IsNarrowWindow(const DepthwiseArgs<T>& args) {
  return trimtab::HasNarrowWindow(kSize, kSize, kStride) && IsWindow<kSize, kStride>(args);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_DEPTHWISE_WINDOW_H_
