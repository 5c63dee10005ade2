#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_output_f32_4x5_avx512(const WinogradOutputF32Args& args) {
  WinogradOutput<4, 5, 1>(args);
}
