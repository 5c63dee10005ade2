// The variables of a program while it runs.
#ifndef TRIMTAB_CORE_SCOPE_H_
#define TRIMTAB_CORE_SCOPE_H_

#include "runtime/core/memory.h"
#include "runtime/core/program.h"
#include "runtime/core/tensor.h"

namespace trimtab {

struct Variable {
  Tensor tensor;
  const char* name;  // "" when the model carries no names
  bool constant;
  bool written;      // by an operator, the caller or the file
  uint32_t root;     // the variable in whose pixels this one lies; itself when it lies alone
  uint32_t channel;  // its first one there
  uint32_t next;     // the next one in the same pixels, in a ring
};

class Scope {
 public:
  Scope() = default;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // One variable per record, which lie in `memory`; constants point at the program's data.
  Status Create(const Program& program, Memory* memory);

  uint32_t size() const { return size_; }
  Variable& variable(uint32_t i) { return variables_[i]; }
  const Variable& variable(uint32_t i) const { return variables_[i]; }
  Tensor& tensor(uint32_t i) { return variables_[i].tensor; }
  const Tensor& tensor(uint32_t i) const { return variables_[i].tensor; }
  // How many channels of variable `var` are written; of one that lies alone, all or none.
  int64_t WrittenChannels(uint32_t var) const;
  // As many as there are to write.
  int64_t Channels(uint32_t var) const;

 private:
  Variable* variables_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_SCOPE_H_
