// Errors as values: a code, a message with the facts, and the operator it happened in.
#ifndef TRIMTAB_CORE_STATUS_H_
#define TRIMTAB_CORE_STATUS_H_

#include <stddef.h>
#include <stdint.h>

namespace trimtab {

// Codes are part of the C API and of the runner's output: never renumber.
enum class Code : uint8_t {
  kOk = 0,
  kBadFile = 1,        // not a .ttm, truncated, damaged
  kBadVersion = 2,     // another format version or operator schema
  kBadProgram = 3,     // an operator's inputs, shapes or attributes break its rules
  kMissingOp = 4,      // the operator was trimmed away
  kMissingKernel = 5,  // the kernel was trimmed away or the CPU lacks its instructions
  kOutOfMemory = 6,
  kBadArgument = 7,  // a caller's mistake at the API
  kIo = 8,
  kMemoryLimit = 9,  // more memory than the caller allows
  // 10 and 11 are of plug-ins: runtime/api/trimtab.h.
};

// A word, so that it is returned in a register: null, or where the facts of what went wrong stand.
// The latest kKept errors of the process are known: report one before there are so many more.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // `what` must be a literal. `a` and `b` are facts (expected and found, or an index) shown beside
  // it.
  Status(Code code, const char* what, int64_t a = kNoFact, int64_t b = kNoFact);

  bool ok() const { return failure_ == nullptr; }
  Code code() const;

  // Names the place of an error: the index of the operator in its program, and its type.
  Status& At(int32_t op_index, uint16_t op_id);

  // Writes "what (a, b) in operator 3 (conv)" into `buffer`, always terminated; returns the length.
  // Of an error.
  size_t Format(char* buffer, size_t size) const;

  static constexpr int64_t kNoFact = INT64_MIN;
  static constexpr unsigned kKept = 16;

 private:
  struct Failure;
  Failure* failure_ = nullptr;
};

// What most checks find. Not in the header, and without the code: what a check costs where it stands
// is a call.
Status BadProgram(const char* what);
Status BadProgram(const char* what, int64_t a);
Status BadProgram(const char* what, int64_t a, int64_t b);

}  // namespace trimtab

#define TRIMTAB_RETURN_IF_ERROR(expr)                \
  do {                                               \
    ::trimtab::Status status_of_expr = (expr);       \
    if (!status_of_expr.ok()) return status_of_expr; \
  } while (0)

// Error texts vanish from binaries built with strings = false; the code and the facts stay.
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
