#include "runtime/core/status.h"

#include "runtime/core/registry.h"
#include "runtime/core/text.h"

namespace trimtab {

struct Status::Failure {
  Code code;
  uint16_t op_id;
  int32_t op_index;
  const char* what;
  int64_t a, b;
};

// Not thread_local, which needs a segment of its own: up to a page of padding in small binaries.
Status::Status(Code code, const char* what, int64_t a, int64_t b) {
  static Failure failures[kKept];
  static unsigned next = 0;
  failure_ = &failures[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % kKept];
  *failure_ = {code, 0, -1, what, a, b};
}

Status BadProgram(const char* what) { return Status(Code::kBadProgram, what); }
Status BadProgram(const char* what, int64_t a) { return Status(Code::kBadProgram, what, a); }
Status BadProgram(const char* what, int64_t a, int64_t b) {
  return Status(Code::kBadProgram, what, a, b);
}

Code Status::code() const { return ok() ? Code::kOk : failure_->code; }

Status& Status::At(int32_t op_index, uint16_t op_id) {
  failure_->op_index = op_index;
  failure_->op_id = op_id;
  return *this;
}

size_t Status::Format(char* buffer, size_t size) const {
  const Failure& failure = *failure_;
  Text text(buffer, size);
  if (failure.what[0] != '\0') {
    text.Add(failure.what);
  } else {
    text.Add("error ").Add(static_cast<int64_t>(failure.code));
  }
  if (failure.a != kNoFact) {
    text.Add(" (").Add(failure.a);
    if (failure.b != kNoFact) text.Add(", ").Add(failure.b);
    text.Add(")");
  }
  if (failure.op_index >= 0) {
    const OperatorRow* row = FindOperator(failure.op_id);
    text.Add(" in operator ").Add(static_cast<int64_t>(failure.op_index)).Add(" (");
    if (row != nullptr && row->name[0] != '\0') {
      text.Add(row->name);
    } else {
      text.Add("id ").Add(static_cast<int64_t>(failure.op_id));
    }
    text.Add(")");
  }
  return text.length();
}

}  // namespace trimtab
