#include "generated/attributes/free_resize.h"

#include "runtime/ops/free_dimensions.h"
#include "runtime/ops/resize.h"

namespace trimtab {
namespace {

template <typename T>
class FreeResize final : public ResizedImage<T, FreeResizeAttributes, FreeResize<T>> {
 public:
  int64_t Size(size_t i) const { return sizes_[i]; }

 private:
  using Base = ResizedImage<T, FreeResizeAttributes, FreeResize<T>>;

  Status InferShape() override {
    TRIMTAB_RETURN_IF_ERROR(
        SizeTermsOf(this->attributes()).Compute(this->input(1).dims, 2, sizes_));
    return Base::InferShape();
  }

  int32_t sizes_[2] = {};
};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(FreeResize, float, F32)
TRIMTAB_TYPED_OPERATOR(FreeResize, Half, F16)
