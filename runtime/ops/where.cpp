#include "generated/attributes/where.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/broadcast.h"

namespace trimtab {
namespace {

class Where final : public OperatorOf<WhereAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    pool.For(walk_.rows(), walk_.row_length(), [&](size_t begin, size_t end, int) {
      for (size_t row = begin; row < end; ++row) {
        // Elements are copied as bits: one loop per size, not per type.
        switch (output().element_size()) {
          case 1:
            Choose<uint8_t>(row);
            break;
          case 2:
            Choose<uint16_t>(row);
            break;
          case 4:
            Choose<uint32_t>(row);
            break;
          default:
            Choose<uint64_t>(row);
            break;
        }
      }
    });
  }

 protected:
  Status InferShape() override {
    const Tensor* const operands[] = {&input(0), &input(1), &input(2)};
    TRIMTAB_CHECK(operands[0]->dtype == DType::kBool, "the condition must be bool (type)",
                  static_cast<int64_t>(operands[0]->dtype));
    TRIMTAB_CHECK(operands[1]->dtype == operands[2]->dtype, "a and b must be of one type (types)",
                  static_cast<int64_t>(operands[1]->dtype),
                  static_cast<int64_t>(operands[2]->dtype));
    output().dtype = operands[1]->dtype;
    return walk_.SetUp(operands, 3, &output().dims);
  }

 private:
  template <typename T>
  void Choose(size_t row) const {
    const size_t n = walk_.row_length();
    const size_t c_step = walk_.Step(0), a_step = walk_.Step(1), b_step = walk_.Step(2);
    const auto* c = static_cast<const uint8_t*>(input(0).raw) + walk_.RowBegin(0, row);
    const auto* a = static_cast<const T*>(input(1).raw) + walk_.RowBegin(1, row);
    const auto* b = static_cast<const T*>(input(2).raw) + walk_.RowBegin(2, row);
    auto* y = static_cast<T*>(output().raw) + row * n;
    for (size_t i = 0; i < n; ++i) y[i] = c[i * c_step] != 0 ? a[i * a_step] : b[i * b_step];
  }

  Broadcast walk_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Where)
