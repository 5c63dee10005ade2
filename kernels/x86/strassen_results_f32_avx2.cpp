#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/strassen.h"

extern "C" void strassen_results_f32_avx2(const StrassenResultsF32Args& args) {
  StrassenResults(args);
}
