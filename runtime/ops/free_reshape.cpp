#include "generated/attributes/free_reshape.h"

#include "runtime/ops/free_dimensions.h"

namespace trimtab {
namespace {

class FreeReshape final : public OperatorOf<FreeReshapeAttributes> {
 public:
  // The executor lets the result share the input's memory (`view` in the schema).
  void Run(ThreadPool&) override {}

 protected:
  Status InferShape() override {
    const uint32_t count = attributes().free.size;
    TRIMTAB_CHECK(count <= Dims::kMaxRank, "too many dimensions", count);
    Dims& dims = output().dims;
    dims.rank = static_cast<int>(count);
    TRIMTAB_RETURN_IF_ERROR(SizeTermsOf(attributes()).Compute(input(1).dims, count, dims.d));
    const int64_t elements = input(0).Count();
    int64_t product = 1;
    int rest = -1;
    for (int i = 0; i < dims.rank; ++i) {
      if (dims[i] < 0) {
        TRIMTAB_CHECK(rest < 0, "two dimensions take the remaining elements (dimension)", i);
        rest = i;
      } else {
        product *= dims[i];
        TRIMTAB_CHECK(product <= kMaxElements, "the result is too large", product);
      }
    }
    if (rest >= 0) dims[rest] = product > 0 ? static_cast<int32_t>(elements / product) : 0;
    TRIMTAB_CHECK(dims.Count() == elements, "the number of elements changes (from, to)", elements,
                  dims.Count());
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(FreeReshape)
