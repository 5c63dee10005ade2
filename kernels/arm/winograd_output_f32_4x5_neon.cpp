#include "kernels/arm/vec_neon.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_output_f32_4x5_neon(const WinogradOutputF32Args& args) {
  WinogradOutput<4, 5, 2>(args);
}
