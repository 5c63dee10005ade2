// Results whose sizes depend on data, such as the coordinates of elements that are not 0. The file
// has their largest sizes, for which memory is planned. In a run, the operator that computes such a
// result sets its sizes, and those behind it infer theirs before they run.
#include "generated/counts.h"
#include "runtime/core/executor.h"

namespace trimtab {
namespace {

// The row of an operator that counts; `operand`: its operands.
const CountingOp* Find(const OpRecord& record, const uint32_t* operand) {
  for (const CountingOp& op : kCountingOps) {
    if (op.id != record.op_id) continue;
    const bool counts = !kSizesAreOperands || op.operand == kAlways ||
                        (op.operand < record.input_count && operand[op.operand] != kAbsent);
    return counts ? &op : nullptr;
  }
  return nullptr;
}

}  // namespace

void Executor::MarkCounted(const OpRecord& op) {
  const uint32_t* operand = program_->operands(op);
  bool counted = Find(op, operand) != nullptr;
  for (uint32_t i = 0; i < op.input_count; ++i)
    counted |= operand[i] != kAbsent && scope_.variable(operand[i]).counted;
  for (uint32_t i = 0; i < op.output_count; ++i)
    scope_.variable(operand[op.input_count + i]).counted = counted;
}

// True if the operator reads a result of a branch that does not run; one that `joins` branches
// reads only the other.
bool Executor::IsAbsent(const OpRecord& op, bool joins) const {
  const uint32_t* operand = program_->operands(op);
  for (uint32_t i = 0; i < op.input_count && !joins; ++i) {
    if (operand[i] != kAbsent && scope_.variable(operand[i]).absent) return true;
  }
  return false;
}

Status Executor::ComputeCounted(uint32_t op_index) {
  const OpRecord& op = program_->op(op_index);
  const uint32_t* result = program_->operands(op) + op.input_count;
  if (op.output_count == 0 || !scope_.variable(result[0]).counted) {
    operators_[op_index]->Compute(pool_);
    return Status();
  }
  const CountingOp* const counts = Find(op, program_->operands(op));
  bool absent = IsAbsent(op, counts != nullptr && counts->joins);
  if (!absent) {
    TRIMTAB_RETURN_IF_ERROR(operators_[op_index]->Reshape());
    TRIMTAB_RETURN_IF_ERROR(CheckSizesKnown(op_index));
    const Dims largest = scope_.tensor(result[0]).dims;
    if (counts != nullptr) {
      operators_[op_index]->ComputeAny(pool_);
    } else {
      operators_[op_index]->Compute(pool_);
    }
    Tensor& first = scope_.tensor(result[0]);
    absent = first.dims.rank < 0;
    if (absent) first.dims = largest;
    TRIMTAB_RETURN_IF_ERROR(CheckSizesKnown(op_index));
  }
  for (uint32_t i = 0; i < op.output_count; ++i) scope_.variable(result[i]).absent = absent;
  return Status();
}

// Scratch memory and results must fit their places in the plan, which is that of the largest sizes.
Status Executor::CheckSizesKnown(uint32_t op_index) {
  const OpRecord& op = program_->op(op_index);
  const uint32_t* result = program_->operands(op) + op.input_count;
  const uint64_t scratch = buffers_[program_->var_count() + op_index].bytes;
  TRIMTAB_CHECK(operators_[op_index]->scratch_bytes() <= scratch,
                "scratch memory is larger than planned (bytes)", static_cast<int64_t>(scratch));
  for (uint32_t i = 0; i < op.output_count; ++i) {
    Tensor& tensor = scope_.tensor(result[i]);
    const int64_t count = tensor.Count();
    TRIMTAB_CHECK(count >= 0, "a size that depends on data is out of range (its output)", i);
    const uint32_t root = alias_root_[result[i]];
    const Variable& place = scope_.variable(root);
    const uint64_t planned =
        place.constant || IsInput(root) ? place.tensor.CountBytes() : buffers_[root].bytes;
    tensor.bytes = tensor.CountBytes();
    uint64_t bytes = tensor.bytes;
    if (tensor.parent_channels != 0 && count != 0) {
      // Its pixels are as far apart as those of the image that contains it.
      TRIMTAB_CHECK(tensor.dims.rank == 4 && tensor.c() == program_->var(result[i]).dims[1],
                    "channels of a sub-tensor cannot change (its output)", i);
      bytes =
          bytes / static_cast<uint64_t>(tensor.c()) * static_cast<uint64_t>(tensor.parent_channels);
    }
    TRIMTAB_CHECK(bytes <= planned, "a result is larger than planned (its output)", i);
  }
  return Status();
}

Status Executor::CheckOutputs() const {
  for (uint32_t i = 0; i < program_->output_count(); ++i) {
    TRIMTAB_CHECK(!scope_.variable(program_->output(i)).absent,
                  "an output is of a branch that did not run (its index)", i);
  }
  return Status();
}

}  // namespace trimtab
