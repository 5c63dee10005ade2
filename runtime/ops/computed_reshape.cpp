#include "generated/attributes/computed_reshape.h"

#include "runtime/ops/computed_sizes.h"
#include "runtime/ops/integer_element.h"

namespace trimtab {
namespace {

class ComputedReshape final : public OperatorOf<ComputedReshapeAttributes> {
 public:
  // The executor lets the result share the input's memory (`view` in the schema).
  void Run(ThreadPool&) override {
    const Dims& x = input(0).dims;
    Dims sizes;
    sizes.rank = output().dims.rank;
    int64_t product = 1;
    int rest = -1;
    for (int i = 0; i < sizes.rank; ++i) {
      int64_t size = IntegerElement(input(1), static_cast<size_t>(i));
      if (size == 0 && i < x.rank) size = x[i];
      if (size == -1 && rest < 0) {
        rest = i;
        continue;
      }
      const bool fits = size >= 0 && (size == 0 || product <= kMaxElements / size);
      sizes[i] = fits ? static_cast<int32_t>(size) : -1;
      product *= fits ? size : 1;
    }
    if (rest >= 0) sizes[rest] = product > 0 ? static_cast<int32_t>(x.Count() / product) : 0;
    if (sizes.Count() != x.Count()) sizes[0] = -1;
    SetDims(sizes, &output().dims);
  }

 protected:
  Status InferShape() override {
    TRIMTAB_RETURN_IF_ERROR(SetLargest(attributes().largest, &output().dims));
    const Dims &y = output().dims, &shape = input(1).dims;
    TRIMTAB_CHECK(shape.rank == 1 && shape[0] == y.rank && y.rank > 0,
                  "there must be a size for each dimension (dimensions)", y.rank);
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ComputedReshape)
