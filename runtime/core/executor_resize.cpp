// Other sizes of a program's inputs.
#include "runtime/core/executor.h"
#include "runtime/core/registry.h"

namespace trimtab {

Status Executor::Resize(uint32_t i, const Dims& dims) {
  if (i >= program_->input_count())
    return Status(Code::kBadArgument, TRIMTAB_TEXT("no such input, or bad dimensions"), i);
  Memory memory;
  Dims* all = nullptr;
  TRIMTAB_RETURN_IF_ERROR(memory.Take(program_->input_count(), &all));
  for (uint32_t j = 0; j < program_->input_count(); ++j) all[j] = j == i ? dims : input(j).dims;
  TRIMTAB_RETURN_IF_ERROR(Resize(all));
  scope_.tensor(program_->input(i)).raw = nullptr;
  BindViews();
  return Status();
}

Status Executor::Resize(const Dims* dims) {
  const uint32_t inputs = program_->input_count();
  for (uint32_t i = 0; i < inputs; ++i) {
    if (dims[i].Count() < 0 || dims[i].rank != input(i).dims.rank)
      return Status(Code::kBadArgument, TRIMTAB_TEXT("no such input, or bad dimensions"), i);
  }
  Memory memory;
  Dims* before = nullptr;
  TRIMTAB_RETURN_IF_ERROR(memory.Take(scope_.size(), &before));
  for (uint32_t var = 0; var < scope_.size(); ++var) before[var] = scope_.tensor(var).dims;
  for (uint32_t i = 0; i < inputs; ++i) scope_.tensor(program_->input(i)).dims = dims[i];
  Status status = Reshape();
  if (status.ok()) status = !PartOutgrown() && PlanHolds() ? KeepPlan() : PlanArena();
  if (!status.ok()) {
    for (uint32_t var = 0; var < scope_.size(); ++var) scope_.tensor(var).dims = before[var];
    // The old sizes were planned before, in the present arena. A plan that failed is not kept.
    static_cast<void>(Reshape());
    static_cast<void>(PlanArena());
    return status;
  }
  for (uint32_t i = 0; i < inputs; ++i) {
    const uint32_t var = program_->input(i);
    // The caller's data still have the old size.
    if (scope_.tensor(var).dims != before[var]) scope_.tensor(var).raw = nullptr;
  }
  BindViews();
  return Status();
}

// Infers all shapes from those of the inputs.
Status Executor::Reshape() {
  for (uint32_t op = 0; op < program_->op_count(); ++op) {
    const OpRecord& record = program_->op(op);
    for (uint32_t j = 0; j < record.output_count && !operators_[op]->prepares(); ++j)
      scope_.variable(program_->operands(record)[record.input_count + j]).written = false;
  }
  for (uint32_t op = 0; op < program_->op_count(); ++op) {
    if (operators_[op]->prepares()) continue;
    Status status = operators_[op]->Reshape();
    if (status.ok()) status = ShareSize(op);
    if (!status.ok()) return status.At(static_cast<int32_t>(op), program_->op(op).op_id);
  }
  return Status();
}

// All sub-tensors of one image must have the same size: the first result sets it.
Status Executor::ShareSize(uint32_t op_index) {
  const OpRecord& op = program_->op(op_index);
  for (uint32_t j = 0; j < op.output_count; ++j) {
    const uint32_t var = program_->operands(op)[op.input_count + j];
    scope_.variable(var).written = true;
    Dims size = scope_.tensor(var).dims;
    for (uint32_t i = scope_.variable(var).next; i != var; i = scope_.variable(i).next) {
      TRIMTAB_CHECK(size[1] == program_->var(var).dims[1],
                    "channels of a sub-tensor cannot change (its output)", j);
      Dims& other = scope_.tensor(i).dims;
      Dims shared = size;
      shared[1] = other[1];
      TRIMTAB_CHECK(other == shared || !scope_.variable(i).written,
                    "sub-tensors differ in size (output)", j);
      other = shared;
    }
  }
  return Status();
}

// Gives results of OverwriteInputs that no longer have the size of their input memory of their own.
// True if there were any.
bool Executor::PartOutgrown() {
  bool parted = false;
  for (uint32_t i = 0; i < program_->var_count(); ++i) {
    Variable& result = scope_.variable(i);
    const bool is_part = result.next != i;
    if (is_part || result.root == i || SameOffset(i, result.root)) continue;
    result.root = i;
    parted = true;
  }
  return parted;
}

// True if every tensor and all scratch memory fits its place in the present plan, and operators that
// overwrite an input still may. So a network within its bounds is not planned again, because the
// plan in its file is that of the largest sizes.
bool Executor::PlanHolds() const {
  const uint32_t vars = program_->var_count();
  for (uint32_t i = 0; i < vars; ++i) {
    const uint32_t root = alias_root_[i];
    if (scope_.variable(i).constant || scope_.variable(root).constant || IsInput(root)) continue;
    if (scope_.tensor(i).CountBytes() > buffers_[root].bytes) return false;
  }
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    if (operators_[i]->scratch_bytes() > buffers_[vars + i].bytes) return false;
    const OpRecord& op = program_->op(i);
    const OperatorRow& row = *FindOperator(op.op_id);
    const uint32_t* operand = program_->operands(op);
    if (row.view || op.output_count == 0) continue;
    const uint32_t y = operand[op.input_count];
    for (uint32_t j = 0; j < op.input_count; ++j) {
      if (operand[j] == kAbsent || alias_root_[operand[j]] != alias_root_[y]) continue;
      const bool siblings = scope_.variable(operand[j]).root == scope_.variable(y).root;
      if (!siblings && !SameOffset(operand[j], y)) return false;
    }
  }
  return true;
}

// Keeps the places of tensors and scratch memory in the arena.
Status Executor::KeepPlan() {
  const uint32_t vars = program_->var_count(), ops = program_->op_count();
  Memory memory;
  Buffer* present = nullptr;
  TRIMTAB_RETURN_IF_ERROR(memory.Take(size_t{vars} + ops, &present));
  for (uint32_t i = 0; i < vars + ops; ++i) {
    present[i] = buffers_[i];
    if (present[i].bytes == 0) continue;
    present[i].bytes =
        i < vars ? scope_.tensor(i).CountBytes() : operators_[i - vars]->scratch_bytes();
    if (i < vars) scope_.tensor(i).bytes = static_cast<size_t>(present[i].bytes);
  }
  arena_lower_bound_bytes_ =
      static_cast<size_t>(MemoryLowerBound(present, size_t{vars} + ops, static_cast<int32_t>(ops)));
  BindViews();
  return Status();
}

bool Executor::IsInput(uint32_t var) const {
  for (uint32_t i = 0; i < program_->input_count(); ++i) {
    if (program_->input(i) == var) return true;
  }
  return false;
}

}  // namespace trimtab
