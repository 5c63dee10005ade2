// Transformed weights for Winograd convolution of quantised numbers.
#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/stored_weights.h"

namespace trimtab {
namespace {

constexpr size_t kTaps = 3, kSize = 6;

// A line of weights by 24 G, whose last row is 6 there.
void Transform(const int32_t* x, size_t step, int32_t* y) {
  const int32_t even = x[0] + x[2 * step], odd = x[step];
  const int32_t even2 = x[0] + 4 * x[2 * step], odd2 = 2 * x[step];
  y[0] = 6 * x[0];
  y[1] = -4 * (even + odd);
  y[2] = -4 * (even - odd);
  y[3] = even2 + odd2;
  y[4] = even2 - odd2;
  y[5] = 6 * x[2 * step];
}

class QlinearPackWinograd final : public OperatorOf<QlinearPackWinogradAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  size_t panel() const { return static_cast<size_t>(attributes().panel); }
  size_t step() const { return static_cast<size_t>(attributes().depth_step); }
  size_t columns() const { return RoundUp(static_cast<size_t>(input(0).dims[0]), panel()); }
  size_t depth() const { return RoundUp(static_cast<size_t>(input(0).dims[1]), step()); }
};

Status QlinearPackWinograd::InferShape() {
  const Tensor& w = input(0);
  TRIMTAB_CHECK(w.dims.rank == 4 && w.dims[2] == kTaps && w.dims[3] == kTaps && w.Count() > 0,
                "weights must be [c_out, c, 3, 3]");
  output().dims = w.dims;
  return Status();
}

Status QlinearPackWinograd::Prepare() {
  const uint64_t elements = uint64_t{kSize * kSize} * columns() * depth();
  return CheckPacking(input(0), static_cast<int64_t>(elements * sizeof(int16_t)), &output());
}

void QlinearPackWinograd::Run(ThreadPool& pool) {
  const auto count = static_cast<size_t>(input(0).dims[0]);
  const auto channels = static_cast<size_t>(input(0).dims[1]);
  const size_t depth = this->depth(), nr = panel(), kr = step(), element = columns() * depth;
  auto* const y = reinterpret_cast<int16_t*>(result<int8_t>());
  pool.For(columns(), kSize * kSize * depth, [&](size_t begin, size_t end, int) {
    for (size_t j = begin; j < end; ++j) {
      int16_t* const column = y + j / nr * nr * depth + j % nr * kr;
      for (size_t p = 0; p < depth; ++p) {
        const bool is_there = j < count && p < channels;
        const int8_t* const w =
            data<int8_t>(0) + (is_there ? (j * channels + p) * kTaps * kTaps : 0);
        int32_t x[kTaps * kTaps], lines[kTaps][kSize];
        for (size_t t = 0; t < kTaps * kTaps; ++t) x[t] = is_there ? w[t] : 0;
        for (size_t c = 0; c < kTaps; ++c) Transform(x + c, kTaps, lines[c]);
        int16_t* const to = column + p / kr * nr * kr + p % kr;
        for (size_t r = 0; r < kSize; ++r) {
          int32_t transformed[kSize];
          Transform(&lines[0][r], kSize, transformed);
          for (size_t c = 0; c < kSize; ++c)
            to[(r * kSize + c) * element] = static_cast<int16_t>(transformed[c]);
        }
      }
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearPackWinograd)
