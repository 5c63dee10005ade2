#include "generated/attributes.h"
#include "runtime/ops/binary.h"
#include "runtime/ops/epilogue.h"

namespace trimtab {
namespace {

class Add final : public Binary<float, AddAttributes, NameHash("add")> {
  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes_, &epilogue_));
    clamps_ = epilogue_.clamp_min > -__builtin_inff() || epilogue_.clamp_max < __builtin_inff();
    most_ = static_cast<size_t>(attributes_.elements);
    return Binary::Prepare();
  }

  // Most additions become part of a convolution, so that the clamp of the others needs no kernel:
  // the result is in a cache.
  void Finish(const BinaryArgs<float>& args) const override {
    const float low = epilogue_.clamp_min, high = epilogue_.clamp_max;
    for (size_t row = 0; clamps_ && row < args.rows; ++row) {
      float* const y = args.y + row * args.y_row;
      for (size_t i = 0; i < args.n; ++i) {
        const float v = y[i] < low ? low : y[i];
        y[i] = v > high ? high : v;
      }
    }
    epilogue_.Activate(args.y, args.rows, args.n, args.y_row);
  }

  Epilogue<float> epilogue_;
  bool clamps_ = false;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Add)
