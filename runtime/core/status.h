// Errors as values: a code, a message with numbers, and the operator where it occurred.
#ifndef TRIMTAB_CORE_STATUS_H_
#define TRIMTAB_CORE_STATUS_H_

#include <stddef.h>
#include <stdint.h>

namespace trimtab {

// Codes are part of the C API and of the runner's output: never renumber.
enum class Code : uint8_t {
  kOk = 0,
  kBadFile = 1,        // not a .ttm file, truncated, or damaged
  kBadVersion = 2,     // another format version or operator schema
  kBadProgram = 3,     // an operator's inputs, shapes or attributes violate its rules
  kMissingOp = 4,      // the operator was trimmed away
  kMissingKernel = 5,  // the kernel was trimmed away or the CPU lacks its instructions
  kOutOfMemory = 6,
  kBadArgument = 7,  // the API was called wrongly
  kIo = 8,
  kMemoryLimit = 9,  // more memory than the caller's limit
  // 10 and 11 belong to plug-ins: runtime/api/trimtab.h.
};

// One word, so that it is returned in a register: null, or a pointer to the details of an error.
// The process keeps the latest kKept errors: report an error before that many more occur.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // `what` must be a literal. `a` and `b` are numbers shown beside it (expected and actual value,
  // or an index).
  Status(Code code, const char* what, int64_t a = kNoFact, int64_t b = kNoFact);

  bool ok() const { return failure_ == nullptr; }
  Code code() const;

  // Sets the place of an error: the index of the operator in its program, and its type.
  Status& At(int32_t op_index, uint16_t op_id);

  // Writes "what (a, b) in operator 3 (conv)" into `buffer`, always terminated; returns the length.
  // Requires an error.
  size_t Format(char* buffer, size_t size) const;

  static constexpr int64_t kNoFact = INT64_MIN;
  static constexpr unsigned kKept = 16;

 private:
  struct Failure;
  Failure* failure_ = nullptr;
};

// The result of most checks. Out of line and without the code, so that a check costs one call where
// it is used.
Status BadProgram(const char* what);
Status BadProgram(const char* what, int64_t a);
Status BadProgram(const char* what, int64_t a, int64_t b);

}  // namespace trimtab

#define TRIMTAB_RETURN_IF_ERROR(expr)                \
  do {                                               \
    ::trimtab::Status status_of_expr = (expr);       \
    if (!status_of_expr.ok()) return status_of_expr; \
  } while (0)

// Binaries built with strings = false contain no error texts; the code and the numbers remain.
#if TRIMTAB_STRINGS
#define TRIMTAB_TEXT(text) text
#else
#define TRIMTAB_TEXT(text) ""
#endif

#define TRIMTAB_CHECK(condition, text, ...)                                            \
  do {                                                                                 \
    if (!(condition)) return ::trimtab::BadProgram(TRIMTAB_TEXT(text), ##__VA_ARGS__); \
  } while (0)

#endif  // TRIMTAB_CORE_STATUS_H_
