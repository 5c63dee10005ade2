#include "generated/attributes/shape.h"

#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class Shape final : public OperatorOf<ShapeAttributes> {
 public:
  void Run(ThreadPool&) override {
    const Dims& x = input(0).dims;
    for (int i = 0; i < x.rank; ++i) result<int64_t>()[i] = x[i];
  }

 protected:
  Status InferShape() override {
    output().dims = {1, {input(0).dims.rank}};
    output().dtype = DType::kI64;
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Shape)
