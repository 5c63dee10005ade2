#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/strassen.h"

extern "C" void strassen_sums_f32_avx2(const StrassenSumsF32Args& args) { StrassenSums(args); }
