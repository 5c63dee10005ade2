#include "generated/attributes/box_coder.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/boxes.h"

namespace trimtab {
namespace {

class BoxCoder final : public OperatorOf<BoxCoderAttributes> {
 public:
  Status InferShape() override;
  void Run(ThreadPool& pool) override;
};

Status BoxCoder::InferShape() {
  const BoxCoderAttributes& a = attributes();
  const Dims &priors = input(0).dims, &offsets = input(1).dims;
  TRIMTAB_CHECK(offsets.rank == 3 && offsets[2] == 4, "offsets must be [n, m, 4] (rank)",
                offsets.rank);
  TRIMTAB_CHECK(a.axis == 0 || a.axis == 1, "axis must be 0 or 1", a.axis);
  const int32_t count = offsets[a.axis == 0 ? 1 : 0];
  TRIMTAB_CHECK(priors.rank == 2 && priors[0] == count && priors[1] == 4,
                "priors do not fit the offsets (rank, expected)", priors.rank, count);
  TRIMTAB_CHECK(!has_input(2) || input(2).dims == priors, "variances must have the priors' shape");
  TRIMTAB_CHECK(a.variance.size == 0 || a.variance.size == 4, "variance must be four values",
                a.variance.size);
  output().dims = offsets;
  return Status();
}

void BoxCoder::Run(ThreadPool& pool) {
  const BoxCoderAttributes& a = attributes();
  const Box* const priors = static_cast<const Box*>(input(0).raw);
  const float* const variances = has_input(2) ? input(2).data<float>() : nullptr;
  const float* const offsets = input(1).data<float>();
  Box* const boxes = static_cast<Box*>(output().raw);
  const float unit = a.normalized ? 0.0f : 1.0f;
  const auto m = static_cast<size_t>(output().dims[1]);
  const size_t count = static_cast<size_t>(output().dims[0]) * m;
  pool.For(count, 3 * kFunctionCost, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const size_t k = a.axis == 0 ? i % m : i / m;
      const Box& prior = priors[k];
      float d[4];
      for (size_t j = 0; j < 4; ++j) {
        d[j] = offsets[i * 4 + j];
        if (variances != nullptr) {
          d[j] *= variances[k * 4 + j];
        } else if (a.variance.size == 4) {
          d[j] *= a.variance[j];
        }
      }
      const float w = prior.xmax - prior.xmin + unit, h = prior.ymax - prior.ymin + unit;
      const float x = d[0] * w + prior.xmin + w * 0.5f, y = d[1] * h + prior.ymin + h * 0.5f;
      const float half_w = expf(d[2]) * w * 0.5f, half_h = expf(d[3]) * h * 0.5f;
      boxes[i] = {x - half_w, y - half_h, x + half_w - unit, y + half_h - unit};
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(BoxCoder)
