#include <math.h>

#include "generated/attributes.h"
#include "runtime/core/copy.h"
#include "runtime/ops/computed_sizes.h"
#include "runtime/ops/integer_element.h"

namespace trimtab {
namespace {

class ComputedRange final : public OperatorOf<ComputedRangeAttributes> {
 public:
  void Run(ThreadPool&) override {
    const bool is_float = input(0).dtype == DType::kF32;
    double ends[3];
    for (int i = 0; i < 3; ++i)
      ends[i] = is_float ? static_cast<double>(*data<float>(i))
                         : static_cast<double>(IntegerElement(input(i), 0));
    const double count = ceil((ends[1] - ends[0]) / ends[2]);
    const bool fits = count <= kMaxElements;  // false for NaN
    SetDims({1, {!fits ? -1 : count > 0 ? static_cast<int32_t>(count) : 0}}, &output().dims);
    const size_t bytes = output().element_size();
    auto* to = static_cast<uint8_t*>(output().raw);
    for (int32_t i = 0; i < output().dims[0]; ++i, to += bytes) {
      const double value = ends[0] + i * ends[2];
      const auto real = static_cast<float>(value);
      const auto whole = static_cast<int64_t>(value);  // little-endian: the low bytes come first
      CopyElement(to, is_float ? static_cast<const void*>(&real) : &whole, bytes);
    }
  }

 protected:
  Status InferShape() override {
    for (int i = 0; i < 3; ++i) {
      TRIMTAB_CHECK(input(i).Count() == 1 && input(i).dtype == input(0).dtype,
                    "start, limit and step must be one element of one type (its index)", i);
    }
    TRIMTAB_RETURN_IF_ERROR(SetLargest(attributes().largest, &output().dims));
    TRIMTAB_CHECK(output().dims.rank == 1, "the result is a vector (rank)", output().dims.rank);
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ComputedRange)
