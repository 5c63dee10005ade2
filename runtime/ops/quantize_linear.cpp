// Quantizes float32 values.
#include "generated/attributes/quantize_linear.h"

#include "runtime/core/operator.h"
#include "runtime/ops/quantized_rows.h"

namespace trimtab {
namespace {

class QuantizeLinear final : public OperatorOf<QuantizeLinearAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const float* const x = input(0).data<float>();
    auto* const y = static_cast<uint8_t*>(output().raw);
    const bool is_signed = output().dtype == DType::kI8;
    const Quantization& q = *output().quantization;
    rows_.For(pool, [&](size_t begin, size_t count, size_t index) {
      kernel_({x + begin, y + begin, count, q.scales()[index], q.zero_points()[index],
               is_signed ? INT8_MIN : 0, is_signed ? INT8_MAX : UINT8_MAX});
    });
  }

 protected:
  Status InferShape() override {
    output().dims = input(0).dims;
    output().dtype = attributes().to == QuantizeLinearTo::kI8 ? DType::kI8 : DType::kU8;
    return Status();
  }

  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(rows_.Prepare(output()));
    return Bind<NameHash("quantize")>(attributes().kernel, &kernel_);
  }

 private:
  QuantizedRows rows_;
  Kernel<QuantizeArgs<float>> kernel_ = nullptr;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QuantizeLinear)
