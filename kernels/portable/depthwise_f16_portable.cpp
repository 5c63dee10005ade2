#include "kernels/portable/depthwise_portable.h"

extern "C" void depthwise_f16_portable(const DepthwiseArgs<Half>& args) { DepthwisePortable(args); }
