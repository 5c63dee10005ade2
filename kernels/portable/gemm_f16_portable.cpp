#include "kernels/portable/gemm_portable.h"

extern "C" void gemm_f16_portable(const GemmArgs<Half>& args) { GemmPortable(args); }
