#include "runtime/core/operator.h"

#include "runtime/core/memory_plan.h"
#include "runtime/core/registry.h"

namespace trimtab {
namespace {

constexpr unsigned kIndexTypes =
    (1u << static_cast<int>(DType::kI32)) | (1u << static_cast<int>(DType::kI64));

// Types of the weights that an operator expands; CheckFloatPacking refuses integers.
constexpr unsigned kStoredTypes = (1u << static_cast<int>(DType::kF16)) |
                                  (1u << static_cast<int>(DType::kI8)) |
                                  (1u << static_cast<int>(DType::kU8));

// All computed 4-D operands (not weights) must have the layout that the schema requires
// (docs/architecture.md, "Layouts").
bool LayoutFits(LayoutRule rule, const Tensor& tensor, Layout* common, bool* seen) {
  if (tensor.dims.rank != 4) return tensor.layout == Layout::kPlain;
  switch (rule) {
    case LayoutRule::kConverts:
      return true;
    case LayoutRule::kPlain:
      return tensor.layout == Layout::kPlain;
    case LayoutRule::kNhwc:
      return tensor.layout == Layout::kNhwc;
    case LayoutRule::kAny:
      break;
  }
  if (!*seen) *common = tensor.layout;
  *seen = true;
  return tensor.layout == *common;
}

// The mask of a variadic operand has its bit and all higher ones set. Operands beyond the last bit
// of the mask share that bit.
bool MayBeStrided(uint16_t mask, int operand) {
  return (mask >> (operand < 15 ? operand : 15) & 1) != 0;
}

}  // namespace

Status Operator::SetUpShapes(const OperatorRow& row, const Operands& operands,
                             const uint8_t* attributes, size_t attribute_bytes) {
  TRIMTAB_CHECK(operands.input_count >= row.min_inputs && operands.input_count <= row.max_inputs,
                "wrong number of inputs (minimum, actual)", row.min_inputs, operands.input_count);
  TRIMTAB_CHECK(
      operands.output_count >= row.min_outputs && operands.output_count <= row.max_outputs,
      "wrong number of outputs (minimum, actual)", row.min_outputs, operands.output_count);
  operands_ = operands;
  prepares_ = row.prepares;
  accepts_empty_ = row.accepts_empty;
  const bool typed = row.factories[0]->dtype != DType::kNone;
  const Tensor* const decides = row.prepares               ? operands.outputs[0]
                                : operands.input_count > 0 ? operands.inputs[0]
                                                           : nullptr;
  const DType own = FactoryFor(row, decides == nullptr ? DType::kNone : decides->dtype).dtype;
  Layout common = Layout::kPlain;
  bool seen = false;
  for (int i = 0; i < operands.input_count; ++i) {
    const Tensor* tensor = operands.inputs[i];
    const unsigned bit = i < 8 ? 1u << i : 0;
    TRIMTAB_CHECK(tensor != nullptr || (row.optional_mask & bit) != 0,
                  "a required input is absent (its index)", i);
    if (tensor == nullptr) continue;
    TRIMTAB_CHECK(tensor->parent_channels == 0 || MayBeStrided(row.strided_inputs, i),
                  "an input cannot be a sub-tensor (its index)", i);
    unsigned allowed = (row.index_mask & bit) != 0 ? kIndexTypes : row.dtypes;
    // A class for one type accepts only that type.
    if (typed && (row.index_mask & bit) == 0) allowed &= 1u << static_cast<int>(own);
    if ((row.float_mask & bit) != 0) allowed = 1u << static_cast<int>(DType::kF32);
    if ((row.half_mask & bit) != 0) allowed |= kStoredTypes;
    TRIMTAB_CHECK(((allowed >> static_cast<int>(tensor->dtype)) & 1) != 0,
                  "element type is not supported (input, type)", i,
                  static_cast<int64_t>(tensor->dtype));
    TRIMTAB_CHECK(tensor->Count() >= 0, "input is too large (its index)", i);
    TRIMTAB_CHECK((row.constant_mask & bit) != 0 || LayoutFits(row.layout, *tensor, &common, &seen),
                  "input has the wrong layout (its index)", i);
  }
  TRIMTAB_RETURN_IF_ERROR(DecodeAttributes(attributes, attribute_bytes, row.fields, row.field_count,
                                           attribute_storage_));
  for (int i = 0; i < operands.output_count; ++i) {
    TRIMTAB_CHECK(operands.outputs[i] != nullptr, "an output is absent (its index)", i);
    TRIMTAB_CHECK(operands.outputs[i]->parent_channels == 0 || MayBeStrided(row.strided_outputs, i),
                  "an output cannot be a sub-tensor (its index)", i);
    operands.outputs[i]->dtype = typed ? own
                                 : operands.input_count > 0 && operands.inputs[0] != nullptr
                                     ? operands.inputs[0]->dtype
                                     : DType::kF32;
  }
  TRIMTAB_RETURN_IF_ERROR(InferSizes());
  for (int i = 0; i < operands.output_count; ++i) {
    TRIMTAB_CHECK(LayoutFits(row.layout, *operands.outputs[i], &common, &seen),
                  "output has the wrong layout (its index)", i);
  }
  return Status();
}

Status Operator::InferSizes() {
  TRIMTAB_RETURN_IF_ERROR(InferShape());
  has_results_ = false;
  for (int i = 0; i < output_count(); ++i) {
    const int64_t count = output(i).Count();
    TRIMTAB_CHECK(count >= 0, "output is too large or has a negative size (its index)", i);
    has_results_ = has_results_ || count > 0;
  }
  for (int i = 0; i < input_count() && has_results_ && !accepts_empty_; ++i) {
    TRIMTAB_CHECK(!has_input(i) || input(i).Count() > 0,
                  "an input has no elements to compute the result from (its index)", i);
  }
  return Status();
}

Status Operator::RequestScratch(uint64_t bytes) {
  TRIMTAB_CHECK(bytes <= kMaxArenaBytes, "scratch memory is too large",
                static_cast<int64_t>(bytes));
  scratch_bytes_ = static_cast<size_t>(bytes);
  return Status();
}

}  // namespace trimtab

// The C++ library's handler for pure virtual calls, which cannot happen here: a C program that
// embeds libtrimtab.a links no C++ library, and a C++ program's own definition overrides this weak
// one.
extern "C" __attribute__((weak)) void
__cxa_pure_virtual() {  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
  __builtin_trap();
}
