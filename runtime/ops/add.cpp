#include "generated/attributes/add.h"

#include "runtime/ops/binary.h"
#include "runtime/ops/epilogue.h"

namespace trimtab {
namespace {

template <typename T>
class Add final : public BinaryLoops<T> {
 public:
  Add() : BinaryLoops<T>(&attributes_) {}

 private:
  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes_, &epilogue_));
    clamps_ = epilogue_.clamp_min > -__builtin_inff() || epilogue_.clamp_max < __builtin_inff();
    this->max_elements_ = static_cast<size_t>(attributes_.elements);
    this->PrepareLoops();
    return Bind<NameHash("add")>(attributes_.kernel, &this->kernel_);
  }

  // Clamps in a second loop instead of a kernel: most additions are fused into a convolution, and
  // the result of the remaining ones is still in a cache.
  void Finish(const BinaryArgs<T>& args) const override {
    const float low = epilogue_.clamp_min, high = epilogue_.clamp_max;
    for (size_t row = 0; clamps_ && row < args.rows; ++row) {
      T* const y = args.y + row * args.y_row;
      for (size_t i = 0; i < args.n; ++i) {
        const float sum = y[i], v = sum < low ? low : sum;
        y[i] = v > high ? high : v;
      }
    }
    epilogue_.Activate(args.y, args.rows, args.n, args.y_row);
  }

  AddAttributes attributes_;
  Epilogue<T> epilogue_;
  bool clamps_ = false;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Add, float, F32)
TRIMTAB_TYPED_OPERATOR(Add, Half, F16)
