#ifndef TRIMTAB_BINDINGS_WEIGHTS_H_
#define TRIMTAB_BINDINGS_WEIGHTS_H_

#include <pybind11/pybind11.h>

// Rearranges, scales and codes weights for Python, at the speed of memory.
void DefineWeights(pybind11::module_& module);

#endif  // TRIMTAB_BINDINGS_WEIGHTS_H_
