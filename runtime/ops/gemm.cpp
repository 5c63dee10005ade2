// Matrix product with constant, packed weights.
#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/ops/gemm_driver.h"

namespace trimtab {
namespace {

class Gemm final : public OperatorOf<GemmAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  int32_t k() const { return input(1).dims[1]; }
  int32_t n() const { return input(1).dims[0]; }

  Epilogue<float> epilogue_;
  GemmDriver<float> gemm_;
};

Status Gemm::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_CHECK(x.dims.rank >= 2, "input must have two dimensions or more", x.dims.rank);
  TRIMTAB_CHECK(w.dims.rank == 2 && n() >= 1 && k() >= 1, "weights must be a matrix");
  Dims y = x.dims;
  TRIMTAB_CHECK(y[y.rank - 1] == k(), "weights do not fit the input (expected, found)",
                y[y.rank - 1], k());
  y[y.rank - 1] = n();
  TRIMTAB_CHECK(!has_input(2) || input(2).Count() == n(), "bias does not fit the weights", n());
  TRIMTAB_CHECK(!has_input(3) || input(3).dims == y, "residual does not have the output's shape");
  output().dims = y;
  return Status();
}

Status Gemm::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(ProductPlan(attributes()), input(1), optional_input(2), 1, n(),
                                     k(), 1, 0, threads()));
  return RequestScratch(gemm_.scratch_bytes());
}

void Gemm::Run(ThreadPool& pool) {
  const auto depth = static_cast<size_t>(k());
  const EvenRows<float> source{input(0).data<float>(), depth, depth, 0};
  GemmJob<float> job;
  job.point = PointAtEvenRows<float>;
  job.context = &source;
  job.w = input(1).data<float>();
  job.bias = optional_data<float>(2);
  job.residual = optional_data<float>(3);
  job.c = output().data<float>();
  job.groups = job.lines = 1;
  job.line_rows = static_cast<size_t>(input(0).Count()) / depth;
  job.columns = job.row_stride = job.residual_stride = static_cast<size_t>(n());
  job.depth = depth;
  job.line_stride = 0;
  gemm_.Run(job, epilogue_, scratch<void>(), pool);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Gemm)
