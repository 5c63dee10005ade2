// A function of int8 values as a lookup table.
#include "generated/attributes/look_up.h"

#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class LookUp final : public OperatorOf<LookUpAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const int8_t* const x = input(0).data<int8_t>();
    const int8_t* const table = input(1).data<int8_t>();
    int8_t* const y = output().data<int8_t>();
    pool.For(static_cast<size_t>(input(0).Count()), 1, [&](size_t begin, size_t end, int) {
      kernel_({x + begin, table, y + begin, end - begin});
    });
  }

 protected:
  Status InferShape() override {
    TRIMTAB_CHECK(input(1).dims.rank == 1 && input(1).Count() == 256,
                  "the table must have 256 entries");
    output().dims = input(0).dims;
    return Status();
  }

  Status Prepare() override { return Bind<NameHash("look_up")>(attributes().kernel, &kernel_); }

 private:
  Kernel<LookUpArgs<int8_t>> kernel_ = nullptr;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(LookUp)
