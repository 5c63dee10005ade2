#include "runtime/ops/resize.h"

#include "generated/attributes/resize.h"

namespace trimtab {
namespace {

template <typename T>
class Resize final : public ResizedImage<T, ResizeAttributes, Resize<T>> {
 public:
  int64_t Size(size_t i) const { return this->attributes().sizes[i]; }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Resize, float, F32)
TRIMTAB_TYPED_OPERATOR(Resize, Half, F16)
