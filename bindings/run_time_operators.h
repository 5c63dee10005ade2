// Operators registered at run time: shared libraries and Python functions.
#ifndef BINDINGS_RUN_TIME_OPERATORS_H_
#define BINDINGS_RUN_TIME_OPERATORS_H_

#include <pybind11/pybind11.h>

void DefineRunTimeOperators(pybind11::module_& module);

// Raises the exception of a Python function since the last call; the engine has no exceptions, so
// it is stored until here. Requires the interpreter's lock.
void RaiseFromFunctions();

#endif  // BINDINGS_RUN_TIME_OPERATORS_H_
