#include "runtime/app/tensors.h"

#if TRIMTAB_TENSORS

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/api/model.h"
#include "runtime/app/json_line.h"

#if defined(_WIN32)
#define O_CLOEXEC O_BINARY
#endif

namespace trimtab {

TensorWriter::TensorWriter(trimtab_model* model, const Options& options)
    : model_(model), from_(options.tensors_from), room_(options.tensors_bytes) {
  if (options.tensors == nullptr) return;
  file_ = open(options.tensors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) {
    error_ = errno;
    return;
  }
  const trimtab_observer notify = [](void* self, uint32_t op, int begin) {
    if (begin == 0) static_cast<TensorWriter*>(self)->WriteResults(op);
  };
  trimtab_set_observer(model, notify, this);
}

int TensorWriter::End() {
  if (file_ < 0) return error_;
  trimtab_set_observer(model_, nullptr, nullptr);
  Flush();
  if (close(file_) != 0 && error_ == 0) error_ = errno;
  file_ = -1;
  return error_;
}

void TensorWriter::WriteResults(uint32_t op) {
  if (op < from_ || room_ < 0 || error_ != 0) return;
  const OpRecord& record = model_->program.op(op);
  const uint32_t* const results = model_->program.operands(record) + record.input_count;
  const Scope& scope = model_->executor.scope();
  for (uint32_t i = 0; i < record.output_count; ++i) {
    if (!scope.variable(results[i]).absent)
      room_ -= static_cast<int64_t>(sizeof(TensorRecord) + scope.tensor(results[i]).CountBytes());
  }
  if (room_ < 0) return;  // the host asks again, from this operator on
  for (uint32_t i = 0; i < record.output_count; ++i) {
    const Variable& variable = scope.variable(results[i]);
    if (variable.absent) continue;
    const Tensor& tensor = variable.tensor;
    TensorRecord header = {op,
                           record.op_id,
                           static_cast<uint8_t>(i),
                           static_cast<uint8_t>(tensor.dtype),
                           static_cast<uint8_t>(tensor.layout),
                           static_cast<uint8_t>(tensor.dims.rank),
                           0,
                           {},
                           static_cast<uint32_t>(tensor.CountBytes())};
    for (int d = 0; d < tensor.dims.rank; ++d) header.dims[d] = tensor.dims[d];
    Append(&header, sizeof(header));
    const auto* data = static_cast<const uint8_t*>(tensor.raw);
    if (tensor.parent_channels == 0) {
      Append(data, header.bytes);
      continue;
    }
    const size_t pixel = static_cast<size_t>(tensor.c()) * tensor.element_size();
    const size_t stride = tensor.pixel_stride() * tensor.element_size();
    for (size_t left = header.bytes; left > 0; left -= pixel, data += stride) Append(data, pixel);
  }
}

void TensorWriter::Append(const void* data, size_t bytes) {
  if (bytes > sizeof(buffer_) - filled_) Flush();
  if (bytes > sizeof(buffer_)) {
    if (error_ == 0 && !JsonLine::WriteAll(file_, data, bytes)) error_ = errno;
    return;
  }
  memcpy(buffer_ + filled_, data, bytes);
  filled_ += bytes;
}

void TensorWriter::Flush() {
  if (error_ == 0 && !JsonLine::WriteAll(file_, buffer_, filled_)) error_ = errno;
  filled_ = 0;
}

}  // namespace trimtab

#endif
