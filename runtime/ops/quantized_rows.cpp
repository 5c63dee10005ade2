#include "runtime/ops/quantized_rows.h"

namespace trimtab {

Status QuantizedRows::Prepare(const Tensor& tensor) {
  const Quantization* const q = tensor.quantization;
  TRIMTAB_CHECK(q != nullptr, "the input has no scale");
  outer_ = axis_ = 1;
  inner_ = static_cast<size_t>(tensor.Count());
  if (q->axis == Quantization::kPerTensor) return Status();
  TRIMTAB_CHECK(q->axis < tensor.dims.rank, "the axis of the scales is out of range", q->axis,
                tensor.dims.rank);
  const int at = tensor.PhysicalAxis(q->axis);
  const Dims dims = tensor.PhysicalDims();
  TRIMTAB_CHECK(q->count == static_cast<uint32_t>(dims[at]),
                "the number of scales differs from the axis (scales, length)", q->count, dims[at]);
  outer_ = static_cast<size_t>(dims.Count(0, at));
  axis_ = static_cast<size_t>(dims[at]);
  inner_ = static_cast<size_t>(dims.Count(at + 1, dims.rank));
  return Status();
}

}  // namespace trimtab
