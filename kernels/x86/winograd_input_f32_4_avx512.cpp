#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_input_f32_4_avx512(const WinogradInputF32Args& args) {
  WinogradInput<4, 1>(args);
}
