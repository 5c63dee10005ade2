// Operators that come while Python runs: shared libraries, and functions of Python.
#ifndef BINDINGS_RUN_TIME_OPERATORS_H_
#define BINDINGS_RUN_TIME_OPERATORS_H_

#include <pybind11/pybind11.h>

void DefineRunTimeOperators(pybind11::module_& module);

// Raises what a function of Python has raised since the last call of this; the engine knows no
// exceptions, so it waits here. With the interpreter's lock.
void RaiseFromFunctions();

#endif  // BINDINGS_RUN_TIME_OPERATORS_H_
