#include "generated/attributes/batch_normalization.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

class BatchNormalization final : public OperatorOf<BatchNormalizationAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;
};

Status BatchNormalization::InferShape() {
  const Tensor& x = input(0);
  TRIMTAB_CHECK(x.dims.rank >= 2, "input must have a channel dimension", x.dims.rank);
  for (int i = 1; i <= 4; ++i) {
    TRIMTAB_CHECK(input(i).Count() == x.c(),
                  "a parameter does not fit the channels (input index, channels)", i, x.c());
  }
  output().dims = x.dims;
  return Status();
}

Status BatchNormalization::Prepare() {
  return RequestScratch(static_cast<uint64_t>(input(0).c()) * 2 * sizeof(float));
}

void BatchNormalization::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  const size_t channels = x.c();
  float *const factor = scratch<float>(), *const offset = factor + channels;
  for (size_t c = 0; c < channels; ++c) {
    const float deviation = __builtin_sqrtf(input(4).data<float>()[c] + attributes().epsilon);
    factor[c] = input(1).data<float>()[c] / deviation;
    offset[c] = input(2).data<float>()[c] - input(3).data<float>()[c] * factor[c];
  }
  // Rows of one channel each, or of all channels if they are contiguous.
  const Dims physical = x.PhysicalDims();
  const int axis = x.PhysicalAxis(1);
  const size_t count = static_cast<size_t>(x.Count());
  const size_t inner = static_cast<size_t>(physical.Count(axis + 1, physical.rank));
  const size_t row = inner == 1 ? channels : inner;
  const float* const in = x.data<float>();
  float* const out = output().data<float>();
  pool.For(count / row, row, [&](size_t begin, size_t end, int) {
    for (size_t r = begin; r < end; ++r) {
      const float* const from = in + r * row;
      float* const to = out + r * row;
      if (inner == 1) {
        for (size_t i = 0; i < row; ++i) to[i] = from[i] * factor[i] + offset[i];
      } else {
        const float scale = factor[r % channels], bias = offset[r % channels];
        for (size_t i = 0; i < row; ++i) to[i] = from[i] * scale + bias;
      }
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(BatchNormalization)
