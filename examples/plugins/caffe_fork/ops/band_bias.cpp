#include "generated/plugin_attributes.h"
#include "runtime/core/operator.h"

namespace trimtab {
namespace {

// Adds offsets to bands of channels. A band is contiguous in each image (plain) or pixel (NHWC):
// the tensor consists of `outer` runs of all channels, with `inner` elements per channel.
class BandBias final : public OperatorOf<BandBiasAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    const bool nhwc = x.layout == Layout::kNhwc && x.dims.rank == 4;
    const auto channels = static_cast<size_t>(x.dims[1]);
    const auto pixels = static_cast<size_t>(x.dims.Count(2, x.dims.rank));
    const size_t inner = nhwc ? 1 : pixels;
    const size_t outer = static_cast<size_t>(x.dims[0]) * (nhwc ? pixels : 1);
    const auto* from = data<float>(0);
    auto* to = result<float>();
    const auto body = [this, from, to, inner, channels](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i)
        AddTo(from + i * channels * inner, to + i * channels * inner, inner);
    };
    pool.For(outer, channels * inner, body);
  }

 protected:
  Status InferShape() override {
    const Dims& dims = input(0).dims;
    TRIMTAB_CHECK(dims.rank >= 2, "the input must be [n, c, ...] (rank)", dims.rank);
    int64_t left = dims[1];
    for (uint32_t i = 0; i < attributes().biases.size; ++i) {
      const BandBiasBiases bias = attributes().biases[i];
      for (uint32_t band = 0; band < bias.widths.size; ++band) {
        const int64_t width = bias.widths[band];
        TRIMTAB_CHECK(width > 0 && width <= left,
                      "a band has no channels, or more than remain (bias, width)", i, width);
        left -= width;
      }
    }
    TRIMTAB_CHECK(left == 0, "the bands do not cover all channels (remaining channels)", left);
    output().dims = dims;
    return Status();
  }

 private:
  void AddTo(const float* from, float* to, size_t inner) const {
    for (uint32_t i = 0; i < attributes().biases.size; ++i) {
      const BandBiasBiases bias = attributes().biases[i];
      for (uint32_t band = 0; band < bias.widths.size; ++band) {
        const size_t count = static_cast<size_t>(bias.widths[band]) * inner;
        for (size_t k = 0; k < count; ++k) to[k] = from[k] + bias.offset;
        from += count;
        to += count;
      }
    }
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(BandBias)
