#include "runtime/core/executor.h"

#include <string.h>

#include "generated/counts.h"
#include "runtime/core/registry.h"

namespace trimtab {
namespace {

static_assert(kMaxElements * sizeof(int64_t) <= kMaxArenaBytes, "a tensor can fit an arena");

size_t AlignedTo16(size_t bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace

Executor::~Executor() {
  pool_.Stop();
  if (run_time_operators != nullptr) run_time_operators->release(program_, operators_);
}

Status Executor::SetUp(const Program& program, int threads, bool mapped, uint64_t limit_bytes) {
  program_ = &program;
  if (limit_bytes == 0)
    limit_bytes = kDefaultModelBytes + kMaxPreparedGrowth * program.header().file_bytes;
  if (limit_bytes < limit_bytes_) limit_bytes_ = limit_bytes;
  const uint32_t vars = program.var_count(), ops = program.op_count();
  TRIMTAB_RETURN_IF_ERROR(pool_.Start(threads));
  TRIMTAB_RETURN_IF_ERROR(scope_.Create(program, &tables_));
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(ops, &operators_));
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(vars, &alias_root_));
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(size_t{vars} + ops, &buffers_));
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(size_t{vars} + ops, &order_));
  TRIMTAB_RETURN_IF_ERROR(CheckDataFlow());
  TRIMTAB_RETURN_IF_ERROR(CreateOperators());
  Tensor** pointers = operand_pointers_;
  for (uint32_t i = 0; i < ops; ++i) {
    const OpRecord& op = program.op(i);
    Status status = SetUpOperator(i, pointers);
    if (!status.ok()) return status.At(static_cast<int32_t>(i), op.op_id);
    pointers += op.input_count + op.output_count;
  }
  TRIMTAB_RETURN_IF_ERROR(PlanArena());
  return PrepareConstants(mapped);
}

// Prepared constants are beside the arena, because a resize plans the arena again.
Status Executor::PrepareConstants(bool mapped) {
  if (prepared_bytes_ == 0) return Status();
  if (!prepared_.Map(static_cast<size_t>(prepared_bytes_))) {
    return Status(Code::kOutOfMemory, TRIMTAB_TEXT("no memory for prepared weights (bytes)"),
                  static_cast<int64_t>(prepared_bytes_));
  }
  prepared_.Touch();
  uint8_t* place = prepared_.begin();
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    if (!operators_[i]->prepares()) continue;
    const OpRecord& op = program_->op(i);
    const uint32_t* operand = program_->operands(op);
    Tensor& prepared = scope_.tensor(operand[op.input_count]);
    prepared.raw = place;
    place += Aligned(prepared.bytes);
    operators_[i]->Compute(pool_);
    const Tensor& stored = scope_.tensor(operand[0]);
    if (mapped && program_->var(operand[0]).data_offset != 0) DropPages(stored.raw, stored.bytes);
  }
  BindViews();
  return Status();
}

Status Executor::ResetStates() {
  bool has_states = false;
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    if (!FindOperator(program_->op(i).op_id)->is_state) continue;
    operators_[i]->Compute(pool_);
    has_states = true;
  }
  if (has_states) return Status();
  return Status(Code::kBadArgument, TRIMTAB_TEXT("the model keeps no states"));
}

// Every channel of a variable is written exactly once, before it is read, and constants are never
// written: this makes planning and running safe.
Status Executor::CheckDataFlow() {
  const auto known = [this](uint32_t var) {
    return scope_.WrittenChannels(var) == scope_.Channels(var);
  };
  for (uint32_t i = 0; i < program_->input_count(); ++i)
    scope_.variable(program_->input(i)).written = true;
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    const OpRecord& op = program_->op(i);
    const uint32_t* operand = program_->operands(op);
    for (uint32_t j = 0; j < op.input_count; ++j) {
      TRIMTAB_CHECK(operand[j] == kAbsent || known(operand[j]),
                    "an operator reads a variable before it is written (operator)", i);
    }
    for (uint32_t j = 0; j < op.output_count; ++j) {
      uint32_t var = operand[op.input_count + j];
      TRIMTAB_CHECK(scope_.WrittenChannels(var) == 0, "a variable is written twice (operator)", i);
      scope_.variable(var).written = true;
    }
  }
  for (uint32_t i = 0; i < program_->output_count(); ++i)
    TRIMTAB_CHECK(known(program_->output(i)), "an output is never written (its index)", i);
  return Status();
}

DType Executor::ComputeType(const OpRecord& op) const {
  const bool prepares = FindOperator(op.op_id)->prepares && op.output_count > 0;
  const uint32_t place = prepares ? op.input_count : 0;
  if (place == uint32_t{op.input_count} + op.output_count) return DType::kNone;
  const uint32_t var = program_->operands(op)[place];
  return var == kAbsent ? DType::kNone : scope_.tensor(var).dtype;
}

Status Executor::CreateOperators() {
  size_t bytes = 0, operands = 0;
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    const OpRecord& op = program_->op(i);
    const OperatorRow* row = FindOperator(op.op_id);
    if (row == nullptr) {
      return Status(Code::kMissingOp, TRIMTAB_TEXT("this binary lacks the operator (trimmed away)"),
                    op.op_id)
          .At(static_cast<int32_t>(i), op.op_id);
    }
    if (row->schema != op.schema) {
      return Status(Code::kBadVersion,
                    TRIMTAB_TEXT("another operator schema: make it again by `trimtab convert`"))
          .At(static_cast<int32_t>(i), op.op_id);
    }
    bytes += AlignedTo16(FactoryFor(*row, ComputeType(op)).bytes);
    operands += size_t{op.input_count} + op.output_count;
  }
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(bytes, &operator_memory_));
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(operands, &operand_pointers_));
  uint8_t* place = operator_memory_;
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    const OpRecord& op = program_->op(i);
    const OperatorFactory& factory = FactoryFor(*FindOperator(op.op_id), ComputeType(op));
    operators_[i] = factory.construct(place);
    place += AlignedTo16(factory.bytes);
  }
  return Status();
}

Status Executor::SetUpOperator(uint32_t index, Tensor** pointers) {
  const OpRecord& op = program_->op(index);
  const OperatorRow& row = *FindOperator(op.op_id);
  const uint32_t* operand = program_->operands(op);
  for (uint32_t i = 0; i < uint32_t{op.input_count} + op.output_count; ++i) {
    pointers[i] = operand[i] == kAbsent ? nullptr : &scope_.tensor(operand[i]);
  }
  for (uint32_t i = 0; i < op.input_count; ++i) {
    const bool weight = i < 8 && ((row.constant_mask >> i) & 1) != 0;
    TRIMTAB_CHECK(!weight || operand[i] == kAbsent || scope_.variable(operand[i]).constant,
                  "a weight must be constant (its index)", i);
  }
  // The shapes in the file are the compiler's: a shape rule with another result means that the file
  // is inconsistent.
  constexpr uint32_t kMaxChecked = 16;
  Dims promised[kMaxChecked];
  DType promised_type[kMaxChecked];
  for (uint32_t i = 0; i < op.output_count && i < kMaxChecked; ++i) {
    promised[i] = pointers[op.input_count + i]->dims;
    promised_type[i] = pointers[op.input_count + i]->dtype;
  }
  const Operands operands = {pointers, pointers + op.input_count, op.input_count, op.output_count};
  TRIMTAB_RETURN_IF_ERROR(
      operators_[index]->SetUpShapes(row, operands, program_->attributes(op), op.attributes_bytes));
  for (uint32_t i = 0; i < op.output_count && i < kMaxChecked; ++i) {
    const Tensor& output = *pointers[op.input_count + i];
    TRIMTAB_CHECK(output.dims == promised[i] && output.dtype == promised_type[i],
                  "output shape or type differs from the file's (output)", i);
  }
  TRIMTAB_RETURN_IF_ERROR(operators_[index]->SetUpRun(pool_.threads()));
  if constexpr (kHasCounts) MarkCounted(op);
  if (row.prepares) {
    Variable& prepared = scope_.variable(operand[op.input_count]);
    prepared.constant = true;
    prepared_bytes_ += Aligned(prepared.tensor.bytes);
  }
  return Status();
}

Status Executor::SetInput(uint32_t i, const void* data, size_t bytes) {
  if (i >= program_->input_count() || data == nullptr)
    return Status(Code::kBadArgument, TRIMTAB_TEXT("no such input"), i);
  Tensor& tensor = scope_.tensor(program_->input(i));
  const size_t expected = tensor.CountBytes();
  if (bytes != expected) {
    return Status(Code::kBadArgument,
                  TRIMTAB_TEXT("input has the wrong size (bytes expected, given)"),
                  static_cast<int64_t>(expected), static_cast<int64_t>(bytes));
  }
  tensor.raw = const_cast<void*>(data);
  tensor.bytes = bytes;
  BindViews();
  return Status();
}

void Executor::ForgetInputs(const void* begin, size_t bytes) {
  const auto* const from = static_cast<const uint8_t*>(begin);
  for (uint32_t i = 0; i < program_->input_count(); ++i) {
    Tensor& tensor = scope_.tensor(program_->input(i));
    const auto* const data = static_cast<const uint8_t*>(tensor.raw);
    if (data >= from && data < from + bytes) tensor.raw = nullptr;
  }
  BindViews();
}

Status Executor::Run() {
  for (uint32_t i = 0; i < program_->input_count(); ++i) {
    if (input(i).raw == nullptr)
      return Status(Code::kBadArgument, TRIMTAB_TEXT("an input is not set (its index)"), i);
  }
  arena_.Touch();
  for (uint32_t i = 0, ops = program_->op_count(); i < ops; ++i) {
    if (operators_[i]->prepares()) continue;
    if (observer_.notify != nullptr) observer_.notify(observer_.context, i, true);
    if constexpr (kHasCounts) {
      Status status = ComputeCounted(i);
      if (!status.ok()) return status.At(static_cast<int32_t>(i), program_->op(i).op_id);
    } else {
      operators_[i]->Compute(pool_);
    }
    if (observer_.notify != nullptr) observer_.notify(observer_.context, i, false);
  }
  return kHasCounts ? CheckOutputs() : Status();
}

}  // namespace trimtab
