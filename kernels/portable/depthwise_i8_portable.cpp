#include "kernels/generic/depthwise_one_by_one.h"

extern "C" void depthwise_i8_portable(const DepthwiseArgs<int8_t>& args) {
  DepthwiseBytesOneByOne(args);
}
