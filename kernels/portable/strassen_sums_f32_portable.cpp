#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/strassen.h"

extern "C" void strassen_sums_f32_portable(const StrassenSumsF32Args& args) { StrassenSums(args); }
