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
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  // `what` must be a literal. `a` and `b` are facts (expected and found, or an index) shown beside
  // it.
  Status(Code code, const char* what);
  Status(Code code, const char* what, int64_t a);
  Status(Code code, const char* what, int64_t a, int64_t b);

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const char* what() const { return what_; }

  // Names the place: the index of the operator in its program, and its type.
  Status& At(int32_t op_index, uint16_t op_id) {
    op_index_ = op_index;
    op_id_ = op_id;
    return *this;
  }
  int32_t op_index() const { return op_index_; }

  // Writes "what (a, b) in operator 3 (conv)" into `buffer`, always terminated; returns the length.
  size_t Format(char* buffer, size_t size) const;

  static constexpr int64_t kNoFact = INT64_MIN;

 private:
  Code code_ = Code::kOk;
  uint16_t op_id_ = 0;
  int32_t op_index_ = -1;
  const char* what_ = "";
  int64_t a_ = kNoFact, b_ = kNoFact;
};

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

#define TRIMTAB_CHECK(condition, text, ...)                                                      \
  do {                                                                                           \
    if (!(condition))                                                                            \
      return ::trimtab::Status(::trimtab::Code::kBadProgram, TRIMTAB_TEXT(text), ##__VA_ARGS__); \
  } while (0)

#endif  // TRIMTAB_CORE_STATUS_H_
