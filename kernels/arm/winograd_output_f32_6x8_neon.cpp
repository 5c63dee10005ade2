#include "kernels/arm/vec_neon.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_output_f32_6x8_neon(const WinogradOutputF32Args& args) {
  WinogradOutput<6, 8, 2>(args);
}
