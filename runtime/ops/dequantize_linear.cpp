// Dequantizes int8, uint8 or int32 values to float32.
#include "generated/attributes/dequantize_linear.h"

#include <type_traits>

#include "runtime/core/operator.h"
#include "runtime/ops/quantized_rows.h"

namespace trimtab {
namespace {

template <typename T>
void Dequantize(const Tensor& x, const QuantizedRows& rows, float* y, ThreadPool& pool) {
  using Difference = std::conditional_t<sizeof(T) < sizeof(int32_t), int32_t, int64_t>;
  const T* const from = x.data<T>();
  const Quantization& q = *x.quantization;
  rows.For(pool, [&](size_t begin, size_t count, size_t index) {
    const float scale = q.scales()[index];
    const auto zero_point = static_cast<Difference>(q.zero_points()[index]);
    for (size_t i = begin; i < begin + count; ++i)
      y[i] = static_cast<float>(from[i] - zero_point) * scale;
  });
}

class DequantizeLinear final : public OperatorOf<DequantizeLinearAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    float* const y = output().data<float>();
    if (x.dtype == DType::kI8) return Dequantize<int8_t>(x, rows_, y, pool);
    if (x.dtype == DType::kU8) return Dequantize<uint8_t>(x, rows_, y, pool);
    Dequantize<int32_t>(x, rows_, y, pool);
  }

 protected:
  Status InferShape() override {
    output().dims = input(0).dims;
    output().dtype = DType::kF32;
    return Status();
  }

  Status Prepare() override { return rows_.Prepare(input(0)); }

 private:
  QuantizedRows rows_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(DequantizeLinear)
