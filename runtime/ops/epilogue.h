// Epilogue: what is applied to a result while it is in registers or cache. The kernel clamps; any
// other activation follows the call.
#ifndef TRIMTAB_OPS_EPILOGUE_H_
#define TRIMTAB_OPS_EPILOGUE_H_

#include "runtime/core/kernel_table.h"

namespace trimtab {

template <typename T>
struct Epilogue {
  float clamp_min, clamp_max;
  float alpha, beta;
  Kernel<UnaryArgs<T>> activation = nullptr;

  // Applies the activation (not the clamp) to rows x columns elements at `stride`.
  void Activate(T* y, size_t rows, size_t columns, size_t stride) const {
    if (activation != nullptr) Apply(y, rows, columns, stride);
  }

 private:
  void Apply(T* y, size_t rows, size_t columns, size_t stride) const;
};

// Epilogue of int8 results. Per packed column: sums are multiplied by `scale`, negative ones then
// by `slope`. int8 results add the zero point and are clamped; float32 results are not. Other
// activations become bounds, or lookup tables of their own.
template <>
struct Epilogue<int8_t> {
  const float* scale;
  const float* slope = nullptr;  // null: none
  int32_t zero_point = 0, low = INT8_MIN, high = INT8_MAX;
  uint16_t kr;       // elements of the depth that are packed together
  size_t steps = 0;  // steps per panel of paired weights; 0: ordinary weights

  void Activate(int8_t*, size_t, size_t, size_t) const {}
};

// Binds the micro-kernel of activation operator `op`; 0: no activation.
template <typename T>
Status BindActivation(uint32_t op, const KernelRef& ref, Kernel<UnaryArgs<T>>* kernel);

// Reads the attributes of an operator whose schema says `fuses_activation`.
template <typename Attributes, typename T>
Status BindEpilogue(const Attributes& attributes, Epilogue<T>* epilogue) {
  epilogue->clamp_min = attributes.clamp_min;
  epilogue->clamp_max = attributes.clamp_max;
  epilogue->alpha = attributes.alpha;
  epilogue->beta = attributes.beta;
  return BindActivation(attributes.activation, attributes.activation_kernel, &epilogue->activation);
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_EPILOGUE_H_
