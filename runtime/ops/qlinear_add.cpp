// Sum of int8 tensors.
#include "generated/attributes/qlinear_add.h"

#include "runtime/core/operator.h"
#include "runtime/ops/requantize.h"

namespace trimtab {
namespace {

class QlinearAdd final : public OperatorOf<QlinearAddAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const int8_t *const a = input(0).data<int8_t>(), *const b = input(1).data<int8_t>();
    int8_t* const y = output().data<int8_t>();
    pool.For(static_cast<size_t>(output().Count()), 1, [&](size_t begin, size_t end, int) {
      QlinearAddArgs<int8_t> args = args_;
      args.a = a + begin;
      args.b = b + begin;
      args.y = y + begin;
      args.n = end - begin;
      kernel_(args);
    });
  }

 protected:
  Status InferShape() override {
    TRIMTAB_CHECK(input(0).dims == input(1).dims, "operands must have one shape");
    output().dims = input(0).dims;
    return Status();
  }

  Status Prepare() override {
    int32_t a = 0, b = 0;
    TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(input(0), &a));
    TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(input(1), &b));
    Epilogue<int8_t> y = {};
    TRIMTAB_RETURN_IF_ERROR(BindLimits(attributes(), output(), &y));
    args_.low = y.low;
    args_.high = y.high;
    const float scale = output().quantization->scales()[0];
    args_.a_scale = input(0).quantization->scales()[0] / scale;
    args_.b_scale = input(1).quantization->scales()[0] / scale;
    // Each term is rounded by itself, as in onnxruntime: no multiplication may be fused with the
    // sum.
    const volatile float a_part = static_cast<float>(a) * args_.a_scale;
    const volatile float b_part = static_cast<float>(b) * args_.b_scale;
    args_.offset = static_cast<float>(y.zero_point) - (a_part + b_part);
    return Bind<NameHash("qlinear_add")>(attributes().kernel, &kernel_);
  }

 private:
  Kernel<QlinearAddArgs<int8_t>> kernel_ = nullptr;
  QlinearAddArgs<int8_t> args_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearAdd)
