#include "kernels/arm/vec_neon.h"

#include "kernels/generic/strassen.h"

extern "C" void strassen_sums_f32_neon(const StrassenSumsF32Args& args) { StrassenSums(args); }
