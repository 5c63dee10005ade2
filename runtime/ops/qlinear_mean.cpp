// Mean over height and width of quantised numbers.
#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/ops/requantise.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

class QlinearMean final : public OperatorOf<QlinearMeanAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    const int8_t* const from = x.data<int8_t>();
    int8_t* const to = y.data<int8_t>();
    const size_t channels = static_cast<size_t>(x.c());
    for (size_t image = 0; image < static_cast<size_t>(x.n()); ++image) {
      pool.For(channels, args_.pixels, [&](size_t begin, size_t end, int) {
        QlinearMeanArgs<int8_t> args = args_;
        args.x = from + image * args.pixels * args.x_stride + begin;
        args.y = to + image * y.pixel_stride() + begin;
        args.channels = end - begin;
        kernel_(args);
      });
    }
  }

 protected:
  Status InferShape() override {
    const Tensor& x = input(0);
    TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
    // As many bytes can be added up in 32 bits.
    TRIMTAB_CHECK(x.h() > 0 && x.w() > 0 && int64_t{x.h()} * x.w() <= 1 << 23,
                  "the image is empty or too large (height, width)", x.h(), x.w());
    output().dims = x.dims;
    output().dims[2] = output().dims[3] = 1;
    return Status();
  }

  Status Prepare() override {
    const Tensor& x = input(0);
    int32_t zero_point = 0;
    TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(x, &zero_point));
    TRIMTAB_RETURN_IF_ERROR(BindLimits(attributes(), output(), &args_));
    args_.pixels = static_cast<size_t>(x.h()) * static_cast<size_t>(x.w());
    args_.x_stride = x.pixel_stride();
    args_.bias = -zero_point * static_cast<int32_t>(args_.pixels);
    args_.scale = x.quantisation->scales()[0] /
                  (output().quantisation->scales()[0] * static_cast<float>(args_.pixels));
    return Bind<NameHash("qlinear_mean")>(attributes().kernel, &kernel_);
  }

 private:
  Kernel<QlinearMeanArgs<int8_t>> kernel_ = nullptr;
  QlinearMeanArgs<int8_t> args_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearMean)
