// A file of its own, which a linker leaves out of programs without images.
#include "runtime/core/frame.h"

#include "runtime/core/executor.h"

namespace trimtab {

Status Executor::SetFrame(uint32_t i, const Frame& frame) {
  const auto no_camera = [i] {
    return Status(Code::kBadArgument, TRIMTAB_TEXT("this input takes no image"), i);
  };
  if (i >= program_->input_count() || &kFrameReader == nullptr) return no_camera();
  const uint32_t var = program_->input(i);
  for (uint32_t output = 0; output < program_->output_count(); ++output)
    if (program_->output(output) == var) return no_camera();
  Operator* reader = nullptr;
  uint32_t readers = 0;
  for (uint32_t index = 0; index < program_->op_count(); ++index) {
    const OpRecord& op = program_->op(index);
    for (uint32_t j = 0; j < op.input_count; ++j) {
      if (program_->operands(op)[j] != var) continue;
      ++readers;
      if (op.op_id == kFrameReader.id) reader = operators_[index];
    }
  }
  if (reader == nullptr || readers != 1) return no_camera();
  const void* data = nullptr;
  TRIMTAB_RETURN_IF_ERROR(kFrameReader.set(reader, frame, &data));
  scope_.tensor(var).raw = const_cast<void*>(data);
  return Status();
}

}  // namespace trimtab
