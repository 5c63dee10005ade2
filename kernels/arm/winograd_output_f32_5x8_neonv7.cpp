#include "kernels/arm/vec_neon.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_output_f32_5x8_neonv7(const WinogradOutputF32Args& args) {
  WinogradOutput<5, 8, 1>(args);
}
