// Product of int8 tensors.
#include "generated/attributes/qlinear_mul.h"

#include <string.h>

#include <algorithm>

#include "runtime/core/operator.h"
#include "runtime/ops/requantize.h"

namespace trimtab {
namespace {

// Bytes of contiguous pixels that one call multiplies: the last vector of a single pixel would be
// partly empty.
constexpr size_t kRow = 2048;

class QlinearMul final : public OperatorOf<QlinearMulAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const int8_t *const a = input(0).data<int8_t>(), *const b = input(1).data<int8_t>();
    int8_t* const y = output().data<int8_t>();
    const auto product = [&](size_t begin, const int8_t* other, size_t count) {
      QlinearMulArgs<int8_t> args = args_;
      args.a = a + begin;
      args.b = other;
      args.y = y + begin;
      args.n = count;
      kernel_(args);
    };
    const auto count = static_cast<size_t>(output().Count());
    if (input(1).dims == input(0).dims) {
      pool.For(count, 1,
               [&](size_t begin, size_t end, int) { product(begin, b + begin, end - begin); });
      return;
    }
    const auto channels = static_cast<size_t>(input(0).c());
    const size_t pixels = static_cast<size_t>(input(0).h()) * static_cast<size_t>(input(0).w());
    pool.For(count / channels, channels, [&](size_t begin, size_t end, int) {
      while (begin < end) {
        const size_t image = begin / pixels, last = std::min(end, (image + 1) * pixels);
        const int8_t* numbers = b + image * channels;
        const size_t together = std::min(std::max<size_t>(kRow / channels, 1), last - begin);
        int8_t row[kRow];
        if (together > 1) {
          for (size_t i = 0; i < together; ++i) memcpy(row + i * channels, numbers, channels);
          numbers = row;
        }
        for (; begin < last; begin += together)
          product(begin * channels, numbers, std::min(together, last - begin) * channels);
        begin = last;
      }
    });
  }

 protected:
  Status InferShape() override {
    const Dims &a = input(0).dims, &b = input(1).dims;
    const bool per_channel = a.rank == 4 && b.rank == 4 && b[0] == a[0] && b[1] == a[1] &&
                             b[2] == 1 && b[3] == 1 && a.Count() > 0;
    TRIMTAB_CHECK(a == b || per_channel,
                  "the second operand must have the shape of the first, or [n, c, 1, 1]");
    output().dims = a;
    return Status();
  }

  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(input(0), &args_.a_zero_point));
    TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(input(1), &args_.b_zero_point));
    TRIMTAB_RETURN_IF_ERROR(BindLimits(attributes(), output(), &args_));
    args_.scale = input(0).quantization->scales()[0] * input(1).quantization->scales()[0] /
                  output().quantization->scales()[0];
    return Bind<NameHash("qlinear_mul")>(attributes().kernel, &kernel_);
  }

 private:
  Kernel<QlinearMulArgs<int8_t>> kernel_ = nullptr;
  QlinearMulArgs<int8_t> args_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearMul)
