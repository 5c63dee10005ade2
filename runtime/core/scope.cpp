#include "runtime/core/scope.h"

#include <stdlib.h>
#include <string.h>

namespace trimtab {

Scope::~Scope() { free(variables_); }

Status Scope::Create(const Program& program) {
  size_ = program.var_count();
  variables_ = static_cast<Variable*>(calloc(size_ + 1, sizeof(Variable)));
  if (variables_ == nullptr)
    return Status(Code::kOutOfMemory, TRIMTAB_TEXT("no memory for the variables"), size_);
  for (uint32_t i = 0; i < size_; ++i) {
    const VarRecord& record = program.var(i);
    Variable& variable = variables_[i];
    Tensor& tensor = variable.tensor;
    tensor.dims.rank = record.rank;
    for (int j = 0; j < record.rank; ++j) tensor.dims[j] = record.dims[j];
    tensor.dtype = static_cast<DType>(record.dtype);
    tensor.layout = static_cast<Layout>(record.layout);
    variable.name = program.name(record.name_offset);
    variable.constant = record.data_offset != 0;
    const int64_t count = tensor.Count();
    if (count < 0)
      return Status(Code::kBadProgram, TRIMTAB_TEXT("a variable is too large (its index)"), i);
    if (!variable.constant) continue;
    // Packing only ever pads, so even packed data holds every element.
    if (record.data_bytes / tensor.element_size() < static_cast<uint64_t>(count)) {
      return Status(Code::kBadFile,
                    TRIMTAB_TEXT("a constant has fewer bytes than its shape (its index)"), i);
    }
    tensor.raw = const_cast<uint8_t*>(program.data(record));
    tensor.bytes = static_cast<size_t>(record.data_bytes);
  }
  return Status();
}

Variable* Scope::Find(const char* name) {
  for (uint32_t i = 0; i < size_; ++i) {
    if (strcmp(variables_[i].name, name) == 0) return &variables_[i];
  }
  return nullptr;
}

}  // namespace trimtab
