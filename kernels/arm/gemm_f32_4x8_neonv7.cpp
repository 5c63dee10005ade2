#include "kernels/arm/vec_neon.h"

#include "kernels/arm/gemm_lane_armv7.h"

extern "C" void gemm_f32_4x8_neonv7(const GemmArgs<float>& args) { Gemm<LaneTile>(args); }
