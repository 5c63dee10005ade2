// Executable models for Python: `trimtab._engine.Executor`.
#ifndef BINDINGS_EXECUTOR_H_
#define BINDINGS_EXECUTOR_H_

#include <pybind11/pybind11.h>

void DefineExecutor(pybind11::module_& module);

#endif  // BINDINGS_EXECUTOR_H_
