#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_output_f32_2x4_avx2(const WinogradOutputF32Args& args) {
  WinogradOutput<2, 4, 1>(args);
}
