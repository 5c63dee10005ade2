#include "generated/attributes/non_zero.h"

#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class NonZero final : public OperatorOf<NonZeroAttributes> {
 public:
  // Single-threaded: the place of a coordinate follows from those before it.
  void Run(ThreadPool&) override {
    switch (input(0).element_size()) {
      case 1:
        return Find<uint8_t>(UINT8_MAX);
      case 2:
        return Find<uint16_t>(INT16_MAX);  // -0.0 is 0
      case 4:
        return Find<uint32_t>(input(0).dtype == DType::kF32 ? INT32_MAX : UINT32_MAX);
      default:
        return Find<uint64_t>(UINT64_MAX);
    }
  }

 protected:
  Status InferShape() override {
    const Dims& x = input(0).dims;
    const int64_t rows = x.rank, columns = x.Count();
    TRIMTAB_CHECK(columns >= 0 && rows * columns <= kMaxElements,
                  "there may be too many coordinates (dimensions, elements)", rows, columns);
    output().dims = {2, {static_cast<int32_t>(rows), static_cast<int32_t>(columns)}};
    output().dtype = DType::kI64;
    return Status();
  }

 private:
  // Elements are bits: one loop per size, not per type. `mask`: the bits that matter.
  template <typename T>
  void Find(T mask) const {
    const Dims& x = input(0).dims;
    const auto elements = static_cast<size_t>(x.Count());
    const T* const values = static_cast<const T*>(input(0).raw);
    size_t count = 0;
    for (size_t i = 0; i < elements; ++i) count += (values[i] & mask) != 0 ? 1 : 0;
    output().dims[1] = static_cast<int32_t>(count);
    int64_t* to = static_cast<int64_t*>(output().raw);
    int32_t at[Dims::kMaxRank] = {};
    for (size_t i = 0; i < elements; ++i) {
      if ((values[i] & mask) != 0) {
        for (int axis = 0; axis < x.rank; ++axis) to[static_cast<size_t>(axis) * count] = at[axis];
        ++to;
      }
      for (int axis = x.rank - 1; axis >= 0 && ++at[axis] == x[axis]; --axis) at[axis] = 0;
    }
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(NonZero)
