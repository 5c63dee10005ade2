// Matrix multiplication with constant, packed weights.
#include "generated/attributes/gemm.h"

#include "runtime/core/operator.h"
#include "runtime/ops/gemm_driver.h"

namespace trimtab {
namespace {

template <typename T>
class Gemm final : public OperatorOf<GemmAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  int32_t k() const { return input(1).dims[1]; }
  int32_t n() const { return input(1).dims[0]; }

  Epilogue<T> epilogue_;
  GemmDriver<T> gemm_;
};

template <typename T>
Status Gemm<T>::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_CHECK(x.dims.rank >= 2, "input must have two dimensions or more", x.dims.rank);
  TRIMTAB_CHECK(w.dims.rank == 2 && n() >= 1 && k() >= 1, "weights must be a matrix");
  Dims y = x.dims;
  TRIMTAB_CHECK(y[y.rank - 1] == k(), "weights do not fit the input (expected, actual)",
                y[y.rank - 1], k());
  y[y.rank - 1] = n();
  TRIMTAB_CHECK(!has_input(2) || input(2).Count() == n(), "bias does not fit the weights", n());
  TRIMTAB_CHECK(!has_input(3) || input(3).dims == y, "residual does not have the output's shape");
  output().dims = y;
  return Status();
}

template <typename T>
Status Gemm<T>::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(ProductPlan(attributes()), input(1), optional_input(2), 1, n(),
                                     k(), 1, 0, threads()));
  return RequestScratch(gemm_.scratch_bytes());
}

template <typename T>
void Gemm<T>::Run(ThreadPool& pool) {
  const auto depth = static_cast<size_t>(k());
  const StridedRows<T> source{data<T>(0), depth, depth, 0};
  GemmJob<T> job;
  job.point = PointAtStridedRows<T>;
  job.context = &source;
  job.w = data<T>(1);
  job.bias = optional_data<T>(2);
  job.residual = optional_data<T>(3);
  job.c = result<T>();
  job.groups = job.lines = 1;
  job.line_rows = static_cast<size_t>(input(0).Count()) / depth;
  job.columns = job.row_stride = job.residual_stride = static_cast<size_t>(n());
  job.depth = depth;
  job.line_stride = 0;
  gemm_.Run(job, epilogue_, scratch<void>(), pool);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Gemm, float, F32)
TRIMTAB_TYPED_OPERATOR(Gemm, Half, F16)
