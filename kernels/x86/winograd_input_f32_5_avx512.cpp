#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_input_f32_5_avx512(const WinogradInputF32Args& args) {
  WinogradInput<5, 1>(args);
}
