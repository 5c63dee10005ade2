#include "kernels/portable/gemm_portable.h"

extern "C" void gemm_f32_portable(const GemmArgs<float>& args) { GemmPortable(args); }
