#include "runtime/core/scope.h"

namespace trimtab {

Status Scope::Create(const Program& program, Memory* memory) {
  size_ = program.var_count();
  TRIMTAB_RETURN_IF_ERROR(memory->Take(size_, &variables_));
  for (uint32_t i = 0; i < size_; ++i) {
    const VarRecord& record = program.var(i);
    Variable& variable = variables_[i];
    Tensor& tensor = variable.tensor;
    tensor.dims = Program::dims(record);
    tensor.dtype = static_cast<DType>(record.dtype);
    tensor.layout = static_cast<Layout>(record.layout);
    tensor.quantization = program.quantization(record);
    variable.name = program.name(record.name_offset);
    variable.constant = variable.written = record.data_offset != 0;
    variable.root = variable.next = i;
    if (!variable.constant) continue;
    tensor.raw = const_cast<uint8_t*>(program.data(record));
    tensor.bytes = static_cast<size_t>(record.data_bytes);
  }
  for (uint32_t i = 0; i < size_; ++i) {
    const VarRecord& record = program.var(i);
    if ((record.flags & kVarSubTensor) == 0) continue;
    Variable &part = variables_[i], &root = variables_[record.parent];
    part.tensor.parent_channels = root.tensor.c();
    part.root = record.parent;
    part.channel = record.channel;
    part.next = root.next;
    root.next = i;
  }
  return Status();
}

int64_t Scope::Channels(uint32_t var) const {
  return variables_[var].next == var ? 1 : variables_[var].tensor.c();
}

int64_t Scope::WrittenChannels(uint32_t var) const {
  const int64_t begin = variables_[var].channel, end = begin + Channels(var);
  int64_t written = 0;
  uint32_t i = var;
  do {
    const int64_t first = variables_[i].channel, last = first + Channels(i);
    const int64_t common = (last < end ? last : end) - (first > begin ? first : begin);
    if (variables_[i].written && common > 0) written += common;
    i = variables_[i].next;
  } while (i != var);
  return written;
}

}  // namespace trimtab
