#include "kernels/arm/vec_neon.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_input_f32_5_neon(const WinogradInputF32Args& args) {
  WinogradInput<5, 2>(args);
}
