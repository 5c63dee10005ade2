#include "kernels/arm/vec_neon.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_output_f32_2x4_neon(const WinogradOutputF32Args& args) {
  WinogradOutput<2, 4, 2>(args);
}
