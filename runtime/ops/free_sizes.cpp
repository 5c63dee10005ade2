#include "generated/attributes/free_sizes.h"

#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class FreeSizes final : public OperatorOf<FreeSizesAttributes> {
 public:
  // The result has no elements: its shape is the result.
  void Run(ThreadPool&) override {}

 protected:
  Status InferShape() override {
    const FreeSizesAttributes& a = attributes();
    TRIMTAB_CHECK(a.minimum.size == a.free.size && a.maximum.size == a.free.size &&
                      a.step.size == a.free.size,
                  "the lists of bounds differ in length (dimensions)", a.free.size);
    Dims& sizes = output().dims;
    sizes = Dims();
    sizes.rank = 1;
    output().dtype = DType::kI32;
    output().layout = Layout::kPlain;
    uint32_t at = 0;
    for (int i = 0; i < input_count(); ++i) {
      const Dims& dims = input(i).dims;
      TRIMTAB_CHECK(static_cast<uint32_t>(dims.rank) <= a.free.size - at,
                    "an input has too many dimensions for its bounds (its index)", i);
      for (int axis = 0; axis < dims.rank; ++axis, ++at) {
        TRIMTAB_RETURN_IF_ERROR(Check(dims[axis], at));
        const int64_t number = a.free[at];
        TRIMTAB_CHECK(number >= -1 && number < sizes.rank && number < Dims::kMaxRank - 1,
                      "free dimensions are not in order of their first use (number)", number);
        if (number < 0) continue;
        const int place = static_cast<int>(number) + 1;
        if (place == sizes.rank) sizes[sizes.rank++] = dims[axis];
        TRIMTAB_CHECK(sizes[place] == dims[axis], "dimensions that must be equal differ (sizes)",
                      sizes[place], dims[axis]);
      }
    }
    TRIMTAB_CHECK(at == a.free.size, "there are bounds for more dimensions than inputs have", at);
    // No operator takes this for an image.
    while (sizes.rank < 5) sizes[sizes.rank++] = 1;
    return Status();
  }

 private:
  Status Check(int64_t size, uint32_t at) const {
    const FreeSizesAttributes& a = attributes();
    TRIMTAB_CHECK(size >= a.minimum[at], "an input is smaller than its bounds (size, smallest)",
                  size, a.minimum[at]);
    TRIMTAB_CHECK(size <= a.maximum[at], "an input is larger than its bounds (size, largest)", size,
                  a.maximum[at]);
    TRIMTAB_CHECK(a.minimum[at] >= 0 && a.step[at] > 0,
                  "bounds are negative or in steps of 0 (step)", a.step[at]);
    TRIMTAB_CHECK((size - a.minimum[at]) % a.step[at] == 0,
                  "the size of an input is between the steps of its bounds (size, step)", size,
                  a.step[at]);
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(FreeSizes)
