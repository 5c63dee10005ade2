// Transforms the weights of Winograd convolutions of int8 values.
#include "generated/attributes/qlinear_pack_winograd.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/stored_weights.h"

namespace trimtab {
namespace {

constexpr size_t kTaps = 3, kSize = 6;

constexpr size_t kLanes = 8;
// Vectors instead of memcpy: small binaries link one that moves one byte at a time.
typedef int16_t Shorts __attribute__((vector_size(kLanes * sizeof(int16_t)), may_alias));
typedef int16_t PackedShorts
    __attribute__((vector_size(kLanes * sizeof(int16_t)), may_alias, aligned(2)));

// Multiplies lines of weights by 24 G, whose last row is 6: values grow at most 12-fold, and
// 144-fold by both sides.
void Transform(const Shorts* x, size_t step, Shorts* y) {
  const Shorts even = x[0] + x[2 * step], odd = x[step];
  const Shorts even2 = x[0] + 4 * x[2 * step], odd2 = 2 * x[step];
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

// The weights that a kernel multiplies at once, one step of the depth of a panel's columns, are
// contiguous.
void QlinearPackWinograd::Run(ThreadPool& pool) {
  const auto count = static_cast<size_t>(input(0).dims[0]);
  const auto channels = static_cast<size_t>(input(0).dims[1]);
  const size_t nr = panel(), kr = step(), steps = depth() / kr, pieces = columns() / nr * steps;
  const size_t element = columns() * depth();
  const auto* const w = data<int8_t>(0);
  const int8_t none[kTaps * kTaps] = {};
  auto* const y = reinterpret_cast<int16_t*>(result<int8_t>());
  pool.For(pieces, kSize * kSize * nr * kr, [&](size_t begin, size_t end, int) {
    for (size_t piece = begin; piece < end; ++piece) {
      const size_t first_column = piece / steps * nr, first_channel = piece % steps * kr;
      size_t j = first_column, p = first_channel;
      for (size_t lane = 0; lane < nr * kr; lane += kLanes) {
        const size_t lanes = Min(kLanes, nr * kr - lane);
        alignas(Shorts) int16_t gathered[kTaps * kTaps][kLanes];
        for (size_t i = 0; i < lanes; ++i) {
          const bool is_there = j < count && p < channels;
          const int8_t* const taps = is_there ? w + (j * channels + p) * kTaps * kTaps : none;
#pragma GCC unroll 9
          for (size_t t = 0; t < kTaps * kTaps; ++t) gathered[t][i] = taps[t];
          if (++p == first_channel + kr) {
            p = first_channel;
            ++j;
          }
        }
        const auto* const x = reinterpret_cast<const Shorts*>(gathered);
        Shorts lines[kTaps][kSize];
        for (size_t c = 0; c < kTaps; ++c) Transform(x + c, kTaps, lines[c]);
        int16_t* to = y + piece * nr * kr + lane;
        for (size_t r = 0; r < kSize; ++r) {
          Shorts transformed[kSize];
          Transform(&lines[0][r], kSize, transformed);
          for (size_t c = 0; c < kSize; ++c, to += element) {
            if (lanes == kLanes) {
              *reinterpret_cast<PackedShorts*>(to) = transformed[c];
            } else {
              for (size_t i = 0; i < lanes; ++i) to[i] = transformed[c][i];
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearPackWinograd)
