// Operators registered at run time: shared libraries and Python functions.
#ifndef BINDINGS_RUN_TIME_OPERATORS_H_
#define BINDINGS_RUN_TIME_OPERATORS_H_

#include <pybind11/pybind11.h>

#include <exception>
#include <utility>

void DefineRunTimeOperators(pybind11::module_& module);

// Collects the exceptions of Python functions that one call into the engine makes, in its thread.
// The engine has no exceptions, so the first one is stored until the call returns; functions after
// it are not called. Calls nest, as a function may itself run a model: each has its own errors. All
// members require the interpreter's lock.
class FunctionErrors {
 public:
  FunctionErrors();
  ~FunctionErrors();
  FunctionErrors(const FunctionErrors&) = delete;
  FunctionErrors& operator=(const FunctionErrors&) = delete;

  // Raises the stored exception, if there is one.
  void Raise();

  // The innermost call of this thread; null outside of one.
  static FunctionErrors* Current();

  bool any() const { return error_ != nullptr; }
  void Store(std::exception_ptr error) { error_ = std::move(error); }

 private:
  FunctionErrors* const outer_;
  std::exception_ptr error_;
};

#endif  // BINDINGS_RUN_TIME_OPERATORS_H_
