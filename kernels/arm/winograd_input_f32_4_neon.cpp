#include "kernels/arm/vec_neon.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_input_f32_4_neon(const WinogradInputF32Args& args) {
  WinogradInput<4, 2>(args);
}
