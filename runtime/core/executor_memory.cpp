// Where a program's tensors lie: in the caller's memory, or in the arena.
#include <string.h>

#include "generated/counts.h"
#include "runtime/core/copy.h"
#include "runtime/core/executor.h"
#include "runtime/core/registry.h"

namespace trimtab {

// Sub-tensors share their parent's memory, views their input's, and results that overwrite an input
// that input's.
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
    while (input < op.input_count && !MayReuseInput(i, row, input)) ++input;
    if (input == op.input_count) continue;
    const uint32_t x = alias_root_[operand[input]], y = alias_root_[operand[op.input_count]];
    buffers_[x].last = buffers_[y].last;
    buffers_[y].bytes = 0;
    for (uint32_t var = 0; var < program_->var_count(); ++var) {
      if (alias_root_[var] == y) alias_root_[var] = x;
    }
  }
}

bool Executor::MayReuseInput(uint32_t op_index, const OperatorRow& row, uint32_t input) const {
  const OpRecord& op = program_->op(op_index);
  const uint32_t* operand = program_->operands(op);
  const auto in_place = [&](uint32_t i) { return i < 8 && (row.in_place_inputs >> i & 1) != 0; };
  if (!in_place(input) || operand[input] == kAbsent) return false;
  const uint32_t x = operand[input], y = operand[op.input_count];
  // In a run, x may be smaller than y.
  if constexpr (kHasCounts) {
    if (scope_.variable(y).counted) return false;
  }
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

Status Executor::RunInto(void** outputs) {
  for (uint32_t i = 0; i < program_->output_count(); ++i) {
    if constexpr (kHasCounts) {
      if (scope_.variable(program_->output(i)).counted) outputs[i] = nullptr;
    }
    if (outputs[i] != nullptr) BindOutput(i, outputs[i]);
  }
  BindViews();
  const Status status = Run();
  for (uint32_t i = 0; i < program_->output_count() && status.ok(); ++i) {
    const Tensor& result = output(i);
    if (outputs[i] != nullptr && outputs[i] != result.raw)
      Copy(outputs[i], result.raw, result.CountBytes());
  }
  for (uint32_t i = 0; i < program_->output_count(); ++i) BindOutput(i, nullptr);
  BindViews();
  return status;
}

void Executor::BindOutput(uint32_t i, void* data) {
  const uint32_t var = program_->output(i), root = alias_root_[var];
  Tensor& tensor = scope_.tensor(root);
  const bool is_whole =
      scope_.variable(var).channel == 0 && output(i).CountBytes() == tensor.CountBytes();
  if (buffers_[root].bytes == 0 || !is_whole) return;
  tensor.raw = data != nullptr ? data : arena_.begin() + static_cast<size_t>(buffers_[root].offset);
}

void Executor::BindViews() {
  for (uint32_t i = 0; i < program_->var_count(); ++i) {
    if (alias_root_[i] == i) continue;
    Tensor& view = scope_.tensor(i);
    auto* const raw = static_cast<uint8_t*>(scope_.tensor(alias_root_[i]).raw);
    view.raw = raw == nullptr ? nullptr : raw + scope_.variable(i).channel * view.element_size();
    view.bytes = view.CountBytes();
  }
}

}  // namespace trimtab
