// Mean over height and width of int8 values.
#include "generated/attributes/qlinear_mean.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/requantize.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

// Pixels whose sum takes longer than writing it and adding it to another.
constexpr size_t kPart = 64;

// Sums parts of the pixels in parallel, in memory order, in the thread that wrote them; then adds
// the partial sums.
class QlinearMean final : public OperatorOf<QlinearMeanAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    int32_t* const sums = scratch<int32_t>();
    int32_t *const zeros = sums + parts_ * room_, *const bias = zeros + room_;
    for (size_t c = 0; c < args_.channels; ++c) {
      zeros[c] = 0;
      bias[c] = bias_;
    }
    for (size_t image = 0; image < static_cast<size_t>(x.n()); ++image) {
      QlinearMeanArgs<int8_t> whole = args_;
      whole.x = x.data<int8_t>() + image * pixels_ * args_.x_stride;
      whole.y = y.data<int8_t>() + image * y.pixel_stride();
      whole.pixels = pixels_;
      whole.start = bias;
      if (parts_ > 1) {
        pool.For(parts_, pixels_ / parts_ * args_.channels, [&](size_t begin, size_t end, int) {
          for (size_t part = begin; part < end; ++part) {
            const size_t first = part * pixels_ / parts_;
            QlinearMeanArgs<int8_t> args = whole;
            args.x += first * args.x_stride;
            args.pixels = (part + 1) * pixels_ / parts_ - first;
            args.start = part == 0 ? bias : zeros;
            args.sums = sums + part * room_;
            kernel_(args);
          }
        });
        for (size_t part = 1; part < parts_; ++part) {
          for (size_t c = 0; c < args_.channels; ++c) sums[c] += sums[part * room_ + c];
        }
        whole.pixels = 0;
        whole.start = sums;
      }
      kernel_(whole);
    }
  }

 protected:
  Status InferShape() override {
    const Tensor& x = input(0);
    TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
    // The sum of this many int8 values fits 32 bits.
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
    pixels_ = static_cast<size_t>(x.h()) * static_cast<size_t>(x.w());
    bias_ = -zero_point * static_cast<int32_t>(pixels_);
    args_.channels = static_cast<size_t>(x.c());
    args_.x_stride = x.pixel_stride();
    args_.scale = x.quantization->scales()[0] /
                  (output().quantization->scales()[0] * static_cast<float>(pixels_));
    const auto max_parts = static_cast<size_t>(threads()) * kBlocksPerThread;
    parts_ = threads() > 1 && pixels_ > kPart ? Min(max_parts, pixels_ / kPart) : 1;
    room_ = RoundUp(args_.channels, size_t{kMeanUnit});
    TRIMTAB_RETURN_IF_ERROR(RequestScratch(uint64_t{parts_ + 2} * room_ * sizeof(int32_t)));
    return Bind<NameHash("qlinear_mean")>(attributes().kernel, &kernel_);
  }

 private:
  Kernel<QlinearMeanArgs<int8_t>> kernel_ = nullptr;
  QlinearMeanArgs<int8_t> args_{};
  int32_t bias_ = 0;
  size_t pixels_ = 0, parts_ = 0;
  size_t room_ = 0;  // elements between partial sums
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearMean)
