#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/strassen.h"

extern "C" void strassen_sums_f32_avx512(const StrassenSumsF32Args& args) { StrassenSums(args); }
