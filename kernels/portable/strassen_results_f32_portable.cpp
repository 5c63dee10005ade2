#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/strassen.h"

extern "C" void strassen_results_f32_portable(const StrassenResultsF32Args& args) {
  StrassenResults(args);
}
