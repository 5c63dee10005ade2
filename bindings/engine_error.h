// The exception and type names that all files of the extension share.
#ifndef BINDINGS_ENGINE_ERROR_H_
#define BINDINGS_ENGINE_ERROR_H_

#include <stdexcept>
#include <string>

// Raised as trimtab.engine.EngineError(code, message).
struct EngineError : std::runtime_error {
  EngineError(int code, const std::string& what) : std::runtime_error(what), code(code) {}
  int code;
};

// numpy's names of element types, indexed by DType.
inline constexpr const char* kNumpyTypes[] = {"",   "f4", "f2", "i1", "u1", "i4",
                                              "i8", "?",  "f8", "i2", "u2", "u4"};

#endif  // BINDINGS_ENGINE_ERROR_H_
