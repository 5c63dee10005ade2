#include "kernels/arm/vec_neon.h"

#include "kernels/generic/strassen.h"

extern "C" void strassen_results_f32_neonv7(const StrassenResultsF32Args& args) {
  StrassenResults(args);
}
