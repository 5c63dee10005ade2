#include "generated/attributes/free_view.h"

#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class FreeView final : public OperatorOf<FreeViewAttributes> {
 public:
  // The executor lets the result share the input's memory (`view` in the schema).
  void Run(ThreadPool&) override {}

 protected:
  Status InferShape() override {
    const IntList& dimensions = attributes().dimensions;
    TRIMTAB_CHECK(dimensions.size <= Dims::kMaxRank, "too many dimensions", dimensions.size);
    const Dims& x = input(0).dims;
    Dims& y = output().dims;
    y.rank = static_cast<int>(dimensions.size);
    for (int i = 0; i < y.rank; ++i) {
      const int64_t from = dimensions[static_cast<size_t>(i)];
      TRIMTAB_CHECK(from >= -1 && from < x.rank, "no such dimension", from);
      y[i] = from < 0 ? 1 : x[static_cast<int>(from)];
    }
    TRIMTAB_CHECK(y.Count() == x.Count(), "the number of elements changes (from, to)", x.Count(),
                  y.Count());
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(FreeView)
