#include "generated/attributes/compare.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/broadcast.h"

namespace trimtab {
namespace {

class Compare final : public OperatorOf<CompareAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    pool.For(walk_.rows(), walk_.row_length(), [&](size_t begin, size_t end, int) {
      for (size_t row = begin; row < end; ++row) {
        switch (input(0).dtype) {
          case DType::kF32:
            Row<float>(row);
            break;
          case DType::kI8:
            Row<int8_t>(row);
            break;
          case DType::kI32:
            Row<int32_t>(row);
            break;
          case DType::kI64:
            Row<int64_t>(row);
            break;
          default:  // u8 and bool
            Row<uint8_t>(row);
            break;
        }
      }
    });
  }

 protected:
  Status InferShape() override {
    const Tensor* const operands[] = {&input(0), &input(1)};
    TRIMTAB_CHECK(operands[0]->dtype == operands[1]->dtype, "a and b must be of one type (types)",
                  static_cast<int64_t>(operands[0]->dtype),
                  static_cast<int64_t>(operands[1]->dtype));
    output().dtype = DType::kBool;
    return walk_.SetUp(operands, 2, &output().dims);
  }

 private:
  template <typename T>
  void Row(size_t row) const {
    const size_t n = walk_.row_length(), a_step = walk_.Step(0), b_step = walk_.Step(1);
    const auto* a = static_cast<const T*>(input(0).raw) + walk_.RowBegin(0, row);
    const auto* b = static_cast<const T*>(input(1).raw) + walk_.RowBegin(1, row);
    auto* y = static_cast<uint8_t*>(output().raw) + row * n;
    const CompareRelation relation = attributes().relation;
    const bool less = relation != CompareRelation::kEqual;
    const bool equal = relation != CompareRelation::kLess;
    for (size_t i = 0; i < n; ++i) {
      const T left = a[i * a_step], right = b[i * b_step];
      y[i] = (static_cast<int>(less) & static_cast<int>(left < right)) |
             (static_cast<int>(equal) & static_cast<int>(left == right));
    }
  }

  Broadcast walk_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Compare)
