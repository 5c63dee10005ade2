#include "generated/attributes/computed_range.h"

#include <math.h>

#include "runtime/core/copy.h"
#include "runtime/ops/integer_element.h"
#include "runtime/ops/sizes.h"

namespace trimtab {
namespace {

// The number of steps from start to limit; negative if there are too many, or the step is 0.
int32_t Count(double start, double limit, double step) {
  const double count = ceil((limit - start) / step);
  if (!(count <= kMaxElements)) return -1;  // or NaN
  return count > 0 ? static_cast<int32_t>(count) : 0;
}
int32_t Count(int64_t start, int64_t limit, int64_t step) {
  if (step == 0) return -1;
  if (step > 0 ? start >= limit : start <= limit) return 0;
  // Unsigned, because differences of large numbers overflow.
  const uint64_t from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit);
  const uint64_t stride = static_cast<uint64_t>(step);
  const uint64_t count =
      step > 0 ? (to - from - 1) / stride + 1 : (from - to - 1) / (0 - stride) + 1;
  return count <= kMaxElements ? static_cast<int32_t>(count) : -1;
}

class ComputedRange final : public OperatorOf<ComputedRangeAttributes> {
 public:
  void Run(ThreadPool&) override {
    if (input(0).dtype == DType::kF32) {
      const double start = *data<float>(0), step = *data<float>(2);
      SetDims({1, {Count(start, *data<float>(1), step)}}, &output().dims);
      for (int32_t i = 0; i < output().dims[0]; ++i)
        result<float>()[i] = static_cast<float>(start + i * step);
      return;
    }
    const int64_t start = IntegerElement(input(0), 0), step = IntegerElement(input(2), 0);
    SetDims({1, {Count(start, IntegerElement(input(1), 0), step)}}, &output().dims);
    const size_t bytes = output().element_size();
    auto* to = static_cast<uint8_t*>(output().raw);
    auto value = static_cast<uint64_t>(start);  // little-endian: the low bytes come first
    for (int32_t i = 0; i < output().dims[0];
         ++i, to += bytes, value += static_cast<uint64_t>(step))
      CopyElement(to, &value, bytes);
  }

 protected:
  Status InferShape() override {
    for (int i = 0; i < 3; ++i) {
      TRIMTAB_CHECK(input(i).Count() == 1 && input(i).dtype == input(0).dtype,
                    "start, limit and step must be one element of one type (its index)", i);
    }
    TRIMTAB_RETURN_IF_ERROR(SetAttribute(attributes().largest, &output().dims));
    TRIMTAB_CHECK(output().dims.rank == 1, "the result is a vector (rank)", output().dims.rank);
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ComputedRange)
