#include "generated/attributes/where.h"

#include "runtime/core/operator.h"
#include "runtime/ops/broadcast.h"

namespace trimtab {
namespace {

class Where final : public OperatorOf<WhereAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    walk_.For(pool, 1, [&](const BroadcastRun& run) {
      // Elements are copied as bits: one loop per size, not per type.
      switch (output().element_size()) {
        case 1:
          ChooseRun<uint8_t>(run);
          break;
        case 2:
          ChooseRun<uint16_t>(run);
          break;
        case 4:
          ChooseRun<uint32_t>(run);
          break;
        default:
          ChooseRun<uint64_t>(run);
          break;
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
  void ChooseRun(const BroadcastRun& run) const {
    BroadcastChunks<uint8_t> c(input(0), run.offsets[0], walk_.Step(0), run.count);
    BroadcastChunks<T> a(input(1), run.offsets[1], walk_.Step(1), run.count);
    BroadcastChunks<T> b(input(2), run.offsets[2], walk_.Step(2), run.count);
    auto* y = static_cast<T*>(output().raw) + run.begin;
    size_t left = run.count;
    for (; left >= kBroadcastChunk; left -= kBroadcastChunk, y += kBroadcastChunk)
      Choose(c.Next(), a.Next(), b.Next(), kBroadcastChunk, y);
    Choose(c.Next(), a.Next(), b.Next(), left, y);
  }

  template <typename T>
  static void Choose(const uint8_t* __restrict c, const T* __restrict a, const T* __restrict b,
                     size_t n, T* __restrict y) {
    for (size_t i = 0; i < n; ++i) {  // by bits: compilers would choose between addresses
      const T chosen = static_cast<T>(-static_cast<T>(c[i] != 0));
      y[i] = static_cast<T>((a[i] & chosen) | (b[i] & static_cast<T>(~chosen)));
    }
  }

  Broadcast walk_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Where)
