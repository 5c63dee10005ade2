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
  bool counted;      // its sizes may depend on data; until a run knows them, it has the largest
  bool absent;       // in this run: it is of a branch that does not run
  uint32_t root;     // the variable whose pixels contain this one; itself if there is none
  uint32_t channel;  // first channel in `root`
  uint32_t next;     // next sub-tensor of the same root, in a ring
};

class Scope {
 public:
  Scope() = default;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Creates one variable per record, in `memory`; constants point at the program's data.
  Status Create(const Program& program, Memory* memory);

  uint32_t size() const { return size_; }
  Variable& variable(uint32_t i) { return variables_[i]; }
  const Variable& variable(uint32_t i) const { return variables_[i]; }
  Tensor& tensor(uint32_t i) { return variables_[i].tensor; }
  const Tensor& tensor(uint32_t i) const { return variables_[i].tensor; }
  // Number of channels of variable `var` that have been written; without sub-tensors all or none.
  int64_t WrittenChannels(uint32_t var) const;
  // Number of channels to write.
  int64_t Channels(uint32_t var) const;

 private:
  Variable* variables_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_SCOPE_H_
