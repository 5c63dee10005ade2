#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/strassen.h"

extern "C" void strassen_results_f32_avx512(const StrassenResultsF32Args& args) {
  StrassenResults(args);
}
