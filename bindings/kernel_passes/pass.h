// Common parts of the passes of kernels over layers. Each file of this folder has the passes of
// some families and registers them by a `PassMaker`.
#ifndef TRIMTAB_BINDINGS_KERNEL_PASSES_PASS_H_
#define TRIMTAB_BINDINGS_KERNEL_PASSES_PASS_H_

#include <stdlib.h>

#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "bindings/kernel_timer.h"
#include "runtime/core/kernel_table.h"

namespace trimtab {

// The kernel calls of one layer.
using Pass = std::function<void()>;
template <typename T>
using Pointers = std::vector<const T*>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kMargin =
    1024;  // elements past the end of every buffer, for last panels and vectors

// Makes the passes of kernels with one type of arguments; its static instances register themselves.
struct PassMaker {
  using Make = Pass (*)(KernelFunction kernel, const LayerSizes& sizes);

  PassMaker(const char* type, Make maker) noexcept : args_type(type), make(maker), next(first) {
    first = this;
  }

  const char* args_type;
  Make make;
  const PassMaker* next;
  inline static const PassMaker* first = nullptr;
};

template <typename Args, Pass (*make)(Kernel<Args>, const LayerSizes&)>
Pass MakePass(KernelFunction kernel, const LayerSizes& sizes) {
  return make(reinterpret_cast<Kernel<Args>>(kernel), sizes);
}

// Memory that grows and is initialized once, so that a pass causes no page faults.
template <typename T>
class Elements {
 public:
  T* Take(size_t n) {
    if (n + kMargin > size_) {
      size_ = (n + kMargin + 63) / 64 * 64;
      memory_.reset(static_cast<T*>(aligned_alloc(64, size_ * sizeof(T))));
      if (memory_ == nullptr) throw std::bad_alloc();
      // Values that are neither denormal nor all equal, so that a kernel works as with real data.
      for (size_t i = 0; i < size_; ++i)
        memory_.get()[i] = static_cast<T>(static_cast<float>(i % 17) / 8 - 1);
    }
    return memory_.get();
  }

 private:
  size_t size_ = 0;
  std::unique_ptr<T, decltype(&free)> memory_{nullptr, &free};
};

// Shared by all layers, because only one is timed at a time.
template <typename T>
struct Memory {
  Elements<T> x, w, y, scratch;
};

template <typename T>
Memory<T>& Shared() {
  static Memory<T> memory;
  return memory;
}

// Sets bias and limits, and the scales of int8 results.
template <typename Args, typename T>
void SetEpilogue(Args* args, const T* bias, size_t) {
  args->bias = bias;
  args->clamp_min = 0;
  args->clamp_max = kInfinity;
}
template <typename Args>
void SetEpilogue(Args* args, const int8_t*, size_t columns) {
  args->bias = Shared<int32_t>().w.Take(columns);
  args->scale = Shared<float>().w.Take(columns);
  args->low = INT8_MIN;
  args->high = INT8_MAX;
}

}  // namespace trimtab

#endif  // TRIMTAB_BINDINGS_KERNEL_PASSES_PASS_H_
