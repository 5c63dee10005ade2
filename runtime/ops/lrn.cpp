// Local response normalization across channels (Krizhevsky et al. 2012):
//   y[c] = x[c] / (bias + alpha / size * sum over c - (size - 1) / 2 <= i <= c + size / 2 of
//   x[i]^2) ^ beta.
#include "generated/attributes/lrn.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

class Lrn final : public OperatorOf<LrnAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  void Normalize(const float* x, const float* squares, size_t n, float* y) const;

  size_t row_ = 0;  // elements of a row: all channels of a pixel, or all pixels of a channel
};

Status Lrn::InferShape() {
  TRIMTAB_CHECK(input(0).dims.rank >= 2, "input must have a channel dimension", input(0).dims.rank);
  TRIMTAB_CHECK(attributes().size >= 1 && attributes().size <= INT32_MAX, "size is out of range",
                attributes().size);
  output().dims = input(0).dims;
  return Status();
}

Status Lrn::Prepare() {
  const Dims physical = input(0).PhysicalDims();
  const auto inner =
      static_cast<size_t>(physical.Count(input(0).PhysicalAxis(1) + 1, physical.rank));
  row_ = inner == 1 ? static_cast<size_t>(input(0).c()) : inner;
  return RequestScratch(uint64_t{row_} * sizeof(float) * static_cast<uint64_t>(threads()));
}

void AddSquares(const float* x, size_t n, float* sum) {
  for (size_t i = 0; i < n; ++i) sum[i] += x[i] * x[i];
}

void Lrn::Normalize(const float* x, const float* squares, size_t n, float* y) const {
  const float factor = attributes().alpha / static_cast<float>(attributes().size);
  const float bias = attributes().bias, beta = attributes().beta;
  if (beta == 0.75f) {  // the exponent of all known networks; square roots are much faster than pow
    for (size_t i = 0; i < n; ++i) {
      const float root = __builtin_sqrtf(bias + factor * squares[i]);
      y[i] = x[i] / (root * __builtin_sqrtf(root));
    }
    return;
  }
  for (size_t i = 0; i < n; ++i) y[i] = x[i] * powf(bias + factor * squares[i], -beta);
}

void Lrn::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  const Dims physical = x.PhysicalDims();
  const int axis = x.PhysicalAxis(1);
  const int32_t channels = x.c();
  const size_t count = static_cast<size_t>(x.Count()),
               inner = static_cast<size_t>(physical.Count(axis + 1, physical.rank));
  const int64_t size = attributes().size;
  const int32_t before =
      static_cast<int32_t>((size - 1) / 2 < channels ? (size - 1) / 2 : channels - 1);
  const int32_t after = static_cast<int32_t>(size / 2 < channels ? size / 2 : channels - 1);
  const float* const in = x.data<float>();
  float* const out = output().data<float>();
  const size_t rows = count / row_, n = row_;
  pool.For(
      rows, n * static_cast<size_t>(before + after + 8), [&](size_t begin, size_t end, int thread) {
        float* const squares = scratch<float>() + static_cast<size_t>(thread) * n;
        for (size_t r = begin; r < end; ++r) {
          const int32_t channel = static_cast<int32_t>(r % static_cast<size_t>(channels));
          const float* const from = in + r * n;
          for (size_t i = 0; i < n; ++i) squares[i] = 0.0f;
          for (int32_t shift = -before; shift <= after; ++shift) {
            if (inner == 1) {
              const int32_t first = shift < 0 ? -shift : 0,
                            last = shift > 0 ? channels - shift : channels;
              AddSquares(from + first + shift, static_cast<size_t>(last - first), squares + first);
            } else if (channel + shift >= 0 && channel + shift < channels) {
              AddSquares(from + shift * static_cast<ptrdiff_t>(inner), n, squares);
            }
          }
          Normalize(from, squares, n, out + r * n);
        }
      });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Lrn)
