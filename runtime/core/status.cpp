#include "runtime/core/status.h"

#include "runtime/core/registry.h"
#include "runtime/core/text.h"

namespace trimtab {

// Not in the header: what a check costs where it stands is a call.
Status::Status(Code code, const char* what) : code_(code), what_(what) {}
Status::Status(Code code, const char* what, int64_t a) : code_(code), what_(what), a_(a) {}
Status::Status(Code code, const char* what, int64_t a, int64_t b)
    : code_(code), what_(what), a_(a), b_(b) {}

size_t Status::Format(char* buffer, size_t size) const {
  Text text(buffer, size);
  if (what_[0] != '\0') {
    text.Add(what_);
  } else {
    text.Add("error ").Add(static_cast<int64_t>(code_));
  }
  if (a_ != kNoFact) {
    text.Add(" (").Add(a_);
    if (b_ != kNoFact) text.Add(", ").Add(b_);
    text.Add(")");
  }
  if (op_index_ >= 0) {
    const OperatorRow* row = FindOperator(op_id_);
    text.Add(" in operator ").Add(static_cast<int64_t>(op_index_)).Add(" (");
    if (row != nullptr && row->name[0] != '\0') {
      text.Add(row->name);
    } else {
      text.Add("id ").Add(static_cast<int64_t>(op_id_));
    }
    text.Add(")");
  }
  return text.length();
}

}  // namespace trimtab
