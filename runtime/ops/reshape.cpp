#include "generated/attributes/reshape.h"

#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class Reshape final : public OperatorOf<ReshapeAttributes> {
 public:
  // The executor lets the result share the input's memory (`view` in the schema).
  void Run(ThreadPool&) override {}

 protected:
  Status InferShape() override {
    const IntList& shape = attributes().shape;
    TRIMTAB_CHECK(shape.size <= Dims::kMaxRank, "too many dimensions", shape.size);
    Dims& dims = output().dims;
    dims.rank = static_cast<int>(shape.size);
    for (uint32_t i = 0; i < shape.size; ++i) {
      TRIMTAB_CHECK(shape[i] >= 0 && shape[i] <= INT32_MAX, "dimension is out of range", shape[i]);
      dims[static_cast<int>(i)] = static_cast<int32_t>(shape[i]);
    }
    TRIMTAB_CHECK(dims.Count() == input(0).Count(), "the number of elements changes (from, to)",
                  input(0).Count(), dims.Count());
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Reshape)
