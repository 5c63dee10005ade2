#include "runtime/core/executor.h"

#include <string.h>

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

Status Executor::PrepareAgain() {
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    if (operators_[i]->prepares()) operators_[i]->Compute(pool_);
  }
  return Status();
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

DType Executor::OwnType(const OpRecord& op) const {
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
                    TRIMTAB_TEXT("written with another operator schema: convert the model again"))
          .At(static_cast<int32_t>(i), op.op_id);
    }
    bytes += AlignedTo16(FactoryFor(*row, OwnType(op)).bytes);
    operands += size_t{op.input_count} + op.output_count;
  }
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(bytes, &operator_memory_));
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(operands, &operand_pointers_));
  uint8_t* place = operator_memory_;
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    const OpRecord& op = program_->op(i);
    const OperatorFactory& factory = FactoryFor(*FindOperator(op.op_id), OwnType(op));
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
  if (row.prepares) {
    Variable& prepared = scope_.variable(operand[op.input_count]);
    prepared.constant = true;
    prepared_bytes_ += Aligned(prepared.tensor.bytes);
  }
  return Status();
}

// Sub-tensors share their parent's memory, views their input's.
void Executor::FindAliasRoots() {
  const uint32_t vars = program_->var_count();
  for (uint32_t i = 0; i < vars; ++i) alias_root_[i] = i;
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    const OpRecord& op = program_->op(i);
    const uint32_t* operand = program_->operands(op);
    if (FindOperator(op.op_id)->view)
      alias_root_[operand[op.input_count]] = alias_root_[operand[0]];
  }
  for (uint32_t i = 0; i < vars; ++i) alias_root_[i] = alias_root_[scope_.variable(i).root];
}

// Inputs are the caller's memory, and constants are in the file or prepared: only variables that
// are computed in every run, and scratch memory, are placed.
void Executor::FindLifetimes() {
  const uint32_t vars = program_->var_count(), ops = program_->op_count();
  memset(buffers_, 0, (size_t{vars} + ops) * sizeof(Buffer));
  const auto touch = [this](uint32_t var, int32_t op) {
    if (var == kAbsent) return;
    Buffer& buffer = buffers_[alias_root_[var]];
    if (buffer.bytes == 0) buffer.first = op;
    buffer.bytes = scope_.tensor(alias_root_[var]).CountBytes();
    if (op > buffer.last) buffer.last = op;
  };
  for (uint32_t i = 0; i < ops; ++i) {
    const OpRecord& op = program_->op(i);
    for (uint32_t j = 0; j < uint32_t{op.input_count} + op.output_count; ++j)
      touch(program_->operands(op)[j], static_cast<int32_t>(i));
    Buffer& scratch = buffers_[vars + i];
    scratch.bytes = operators_[i]->scratch_bytes();
    scratch.first = scratch.last = static_cast<int32_t>(i);
  }
  for (uint32_t i = 0; i < program_->output_count(); ++i)
    touch(program_->output(i), static_cast<int32_t>(ops));
  for (uint32_t i = 0; i < vars; ++i) {
    if (scope_.variable(i).constant) buffers_[i].bytes = 0;
  }
  for (uint32_t i = 0; i < program_->input_count(); ++i) buffers_[program_->input(i)].bytes = 0;
}

// Reuses an input's buffer for the output if this operator is its last reader. Decided for the
// present sizes: a broadcast operand cannot be reused.
void Executor::ShareInPlace() {
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    const OpRecord& op = program_->op(i);
    const OperatorRow& row = *FindOperator(op.op_id);
    const uint32_t* operand = program_->operands(op);
    uint32_t input = 0;
    while (input < op.input_count && !MayTakePlace(i, row, input)) ++input;
    if (input == op.input_count) continue;
    const uint32_t x = alias_root_[operand[input]], y = alias_root_[operand[op.input_count]];
    buffers_[x].last = buffers_[y].last;
    buffers_[y].bytes = 0;
    for (uint32_t var = 0; var < program_->var_count(); ++var) {
      if (alias_root_[var] == y) alias_root_[var] = x;
    }
  }
}

bool Executor::MayTakePlace(uint32_t op_index, const OperatorRow& row, uint32_t input) const {
  const OpRecord& op = program_->op(op_index);
  const uint32_t* operand = program_->operands(op);
  const auto in_place = [&](uint32_t i) { return i < 8 && (row.in_place_inputs >> i & 1) != 0; };
  if (!in_place(input) || operand[input] == kAbsent) return false;
  const uint32_t x = operand[input], y = operand[op.input_count];
  const Buffer &from = buffers_[alias_root_[x]], &to = buffers_[alias_root_[y]];
  const auto now = static_cast<int32_t>(op_index);
  if (from.bytes == 0 || from.bytes != to.bytes || from.last != now || to.first != now ||
      !SameOffset(x, y))
    return false;
  // No other input of the operator may share the buffer, unless at the same offsets.
  for (uint32_t i = 0; i < op.input_count; ++i) {
    if (operand[i] == kAbsent || alias_root_[operand[i]] != alias_root_[x]) continue;
    if (!in_place(i) || !SameOffset(operand[i], y)) return false;
  }
  return true;
}

// True if elements of x and y with the same coordinates have the same offset in their buffers.
bool Executor::SameOffset(uint32_t x, uint32_t y) const {
  const Tensor &a = scope_.tensor(x), &b = scope_.tensor(y);
  return a.dims == b.dims && a.layout == b.layout && a.parent_channels == b.parent_channels &&
         scope_.variable(x).channel == scope_.variable(y).channel;
}

Status Executor::OverwriteInputs(uint32_t count) {
  const uint32_t inputs = program_->input_count(), outputs = program_->output_count();
  TRIMTAB_CHECK(count <= inputs && count <= outputs, "too many values (inputs, outputs)", inputs,
                outputs);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t x = program_->input(inputs - count + i);
    const uint32_t y = program_->output(outputs - count + i);
    FindAliasRoots();
    if (MayOverwrite(x, y)) scope_.variable(y).root = x;
  }
  return PlanArena();
}

// True if all readers of input x are done when the operator that computes y writes it. Requires the
// alias roots before operators share memory in place.
bool Executor::MayOverwrite(uint32_t x, uint32_t y) const {
  const auto is_x = [=](uint32_t var) { return var != kAbsent && alias_root_[var] == x; };
  const bool is_part = scope_.variable(x).next != x || scope_.variable(y).next != y;
  if (x == y || is_part || scope_.variable(x).constant || alias_root_[y] != y) return false;
  if (!SameOffset(x, y) || scope_.tensor(x).dtype != scope_.tensor(y).dtype) return false;
  for (uint32_t i = 0; i < program_->var_count(); ++i) {
    if (i != x && scope_.variable(i).root == x) return false;
  }
  for (uint32_t i = 0; i < program_->output_count(); ++i) {
    if (is_x(program_->output(i))) return false;
  }
  bool is_computed = false;
  for (uint32_t i = 0; i < program_->op_count(); ++i) {
    const OpRecord& op = program_->op(i);
    const OperatorRow& row = *FindOperator(op.op_id);
    const uint32_t* operand = program_->operands(op);
    bool computes = false;
    for (uint32_t j = 0; j < op.output_count; ++j) computes |= operand[op.input_count + j] == y;
    if (computes && row.prepares) return false;
    is_computed |= computes;
    for (uint32_t j = 0; j < op.input_count && is_computed; ++j) {
      if (!is_x(operand[j])) continue;
      const bool in_place = j < 8 && (row.in_place_inputs >> j & 1) != 0;
      if (!computes || !in_place || !SameOffset(operand[j], y)) return false;
    }
  }
  return is_computed;
}

Status Executor::PlanArena() {
  const uint32_t vars = program_->var_count(), ops = program_->op_count();
  FindAliasRoots();
  FindLifetimes();
  ShareInPlace();
  const size_t buffers = size_t{vars} + ops;
  const uint64_t bytes = PlanMemory(buffers_, buffers, order_);
  const uint64_t taken = bytes + prepared_bytes_;
  if (taken > limit_bytes_) {
    return Status(Code::kMemoryLimit,
                  TRIMTAB_TEXT("the model needs more memory than allowed (bytes, limit)"),
                  static_cast<int64_t>(taken), static_cast<int64_t>(limit_bytes_));
  }
  arena_lower_bound_bytes_ =
      static_cast<size_t>(MemoryLowerBound(buffers_, buffers, static_cast<int32_t>(ops)));
  // The old arena stays until there is a new one, or is kept if it is large enough: a resize that
  // fails returns to it.
  if (!arena_.Map(static_cast<size_t>(bytes))) {
    return Status(Code::kOutOfMemory, TRIMTAB_TEXT("no memory for the arena (bytes)"),
                  static_cast<int64_t>(bytes));
  }
  uint8_t* const base = arena_.begin();
  for (uint32_t i = 0; i < vars; ++i) {
    Tensor& tensor = scope_.tensor(i);
    if (buffers_[i].bytes == 0) continue;
    tensor.raw = base + static_cast<size_t>(buffers_[i].offset);
    tensor.bytes = static_cast<size_t>(buffers_[i].bytes);
  }
  for (uint32_t i = 0; i < ops; ++i) {
    operators_[i]->set_scratch(base + static_cast<size_t>(buffers_[vars + i].offset));
    // A result without elements needs an address: adding to null, or copying to it, is undefined.
    const OpRecord& op = program_->op(i);
    for (uint32_t j = 0; j < op.output_count; ++j) {
      Tensor& result = scope_.tensor(program_->operands(op)[op.input_count + j]);
      if (result.CountBytes() != 0) continue;
      result.raw = base;
      result.bytes = 0;
    }
  }
  BindViews();
  return Status();
}

void Executor::BindViews() {
  for (uint32_t i = 0; i < program_->var_count(); ++i) {
    if (alias_root_[i] == i) continue;
    Tensor& view = scope_.tensor(i);
    auto* const raw = static_cast<uint8_t*>(scope_.tensor(alias_root_[i]).raw);
    if (raw != nullptr) view.raw = raw + scope_.variable(i).channel * view.element_size();
    view.bytes = view.CountBytes();
  }
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

Status Executor::Run() {
  for (uint32_t i = 0; i < program_->input_count(); ++i) {
    if (input(i).raw == nullptr)
      return Status(Code::kBadArgument, TRIMTAB_TEXT("an input is not set (its index)"), i);
  }
  arena_.Touch();
  for (uint32_t i = 0, ops = program_->op_count(); i < ops; ++i) {
    if (operators_[i]->prepares()) continue;
    if (observer_.notify != nullptr) observer_.notify(observer_.context, i, true);
    operators_[i]->Compute(pool_);
    if (observer_.notify != nullptr) observer_.notify(observer_.context, i, false);
  }
  return Status();
}

}  // namespace trimtab
