#include "generated/attributes/compare.h"

#include "runtime/core/operator.h"
#include "runtime/ops/broadcast.h"

namespace trimtab {
namespace {

class Compare final : public OperatorOf<CompareAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    walk_.For(pool, 1, [&](const BroadcastRun& run) {
      switch (input(0).dtype) {
        case DType::kF32:
          CompareRun<float>(run);
          break;
        case DType::kI8:
          CompareRun<int8_t>(run);
          break;
        case DType::kI32:
          CompareRun<int32_t>(run);
          break;
        case DType::kI64:
          CompareRun<int64_t>(run);
          break;
        default:  // u8 and bool
          CompareRun<uint8_t>(run);
          break;
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
  void CompareRun(const BroadcastRun& run) const {
    BroadcastChunks<T> a(input(0), run.offsets[0], walk_.Step(0), run.count);
    BroadcastChunks<T> b(input(1), run.offsets[1], walk_.Step(1), run.count);
    auto* y = static_cast<uint8_t*>(output().raw) + run.begin;
    size_t left = run.count;
    for (; left >= kBroadcastChunk; left -= kBroadcastChunk, y += kBroadcastChunk)
      CompareElements(a.Next(), b.Next(), kBroadcastChunk, y);
    CompareElements(a.Next(), b.Next(), left, y);
  }

  template <typename T>
  void CompareElements(const T* __restrict a, const T* __restrict b, size_t n,
                       uint8_t* __restrict y) const {
    switch (attributes().relation) {
      case CompareRelation::kEqual:
        for (size_t i = 0; i < n; ++i) y[i] = static_cast<uint8_t>(a[i] == b[i]);
        break;
      case CompareRelation::kLess:
        for (size_t i = 0; i < n; ++i) y[i] = static_cast<uint8_t>(a[i] < b[i]);
        break;
      case CompareRelation::kLessOrEqual:
        for (size_t i = 0; i < n; ++i) y[i] = static_cast<uint8_t>(a[i] <= b[i]);
        break;
    }
  }

  Broadcast walk_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Compare)
