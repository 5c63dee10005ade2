#include "generated/attributes/max_pool.h"

#include "runtime/ops/pool.h"

namespace trimtab {
namespace {

// Converts a value to T. For int8, values out of range saturate, and NaN becomes the minimum.
template <typename T>
T Saturated(float value) {
  return value;
}
template <>
int8_t Saturated(float value) {
  if (!(value > INT8_MIN)) return INT8_MIN;
  return value >= INT8_MAX ? int8_t{INT8_MAX} : static_cast<int8_t>(value);
}

template <typename T>
class MaxPool final : public Pool<MaxPoolAttributes, NameHash("max_pool"), T> {
 public:
  void Run(ThreadPool& pool) override {
    this->RunRows(Saturated<T>(this->attributes().pad_value), pool,
                  [this](const auto&, PoolArgs<T>* args) { this->kernel_(*args); });
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(MaxPool, float, F32)
TRIMTAB_TYPED_OPERATOR(MaxPool, Half, F16)
TRIMTAB_TYPED_OPERATOR(MaxPool, int8_t, I8)
