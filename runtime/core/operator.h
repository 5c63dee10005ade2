// The template of all operators: SetUp checks, decodes and binds; Run computes. An operator writes
// only its own steps.
#ifndef TRIMTAB_CORE_OPERATOR_H_
#define TRIMTAB_CORE_OPERATOR_H_

#include <stddef.h>
#include <stdint.h>

#include <new>

#include "kernels/kernel_api.h"
#include "runtime/core/attributes.h"
#include "runtime/core/kernel_table.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"

namespace trimtab {

struct OperatorRow;

// The operands of one operator: pointers into the scope. An absent optional input is null.
struct Operands {
  Tensor* const* inputs = nullptr;
  Tensor* const* outputs = nullptr;
  uint8_t input_count = 0;
  uint8_t output_count = 0;
};

class Operator {
 public:
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  // Checks operand counts, types and layouts against the schema, decodes the attributes, infers
  // output shapes. This alone is what shape inference outside an executor needs.
  Status SetUpShapes(const OperatorRow& row, const Operands& operands, const uint8_t* attributes,
                     size_t attribute_bytes);

  // Binds kernels, checks packed weights, asks for scratch memory. `threads` is the pool's width.
  Status SetUpRun(int threads) {
    threads_ = threads;
    scratch_bytes_ = 0;
    return Prepare();
  }

  // Infers output shapes and prepares again after input dimensions changed.
  Status Reshape() {
    TRIMTAB_RETURN_IF_ERROR(InferSizes());
    return SetUpRun(threads_);
  }

  // Cannot fail and allocates nothing.
  virtual void Run(ThreadPool& pool) = 0;

  // Whether it runs once, when the model is set up. Prepare() then sets the bytes of the output.
  bool prepares() const { return prepares_; }

  size_t scratch_bytes() const { return scratch_bytes_; }
  void set_scratch(void* scratch) { scratch_ = static_cast<uint8_t*>(scratch); }

 protected:
  // `attributes`: where those of this operator are decoded to: its generated struct, or one that
  // begins like it.
  explicit Operator(void* attributes) : attribute_storage_(attributes) {}
  ~Operator() = default;  // never deleted through the base: operators live in the executor's arena

  // Sets dims (and dtype where it differs from the first input's) of every output.
  virtual Status InferShape() = 0;
  virtual Status Prepare() { return Status(); }

  int input_count() const { return operands_.input_count; }
  int output_count() const { return operands_.output_count; }
  bool has_input(int i) const {
    return i < operands_.input_count && operands_.inputs[i] != nullptr;
  }
  const Tensor& input(int i) const { return *operands_.inputs[i]; }
  // Null where there is none.
  const Tensor* optional_input(int i) const { return has_input(i) ? &input(i) : nullptr; }
  template <typename T>
  const T* optional_data(int i) const {
    return has_input(i) ? input(i).data<T>() : nullptr;
  }
  Tensor& output(int i = 0) const { return *operands_.outputs[i]; }
  template <typename T>
  const T* data(int i) const {
    return input(i).data<T>();
  }
  template <typename T>
  T* result(int i = 0) const {
    return output(i).data<T>();
  }

  int threads() const { return threads_; }
  // `bytes` are counted in 64 bits, which they cannot leave (kMaxElements): more than an arena may
  // have is an error, and does not wrap on a small device.
  Status RequestScratch(uint64_t bytes);
  // 64-byte aligned; valid in Run only and shared with other operators between runs.
  template <typename T>
  T* scratch(size_t byte_offset = 0) const {
    return reinterpret_cast<T*>(scratch_ + byte_offset);
  }

 private:
  // InferShape, and results that can be counted.
  Status InferSizes();

  void* attribute_storage_;
  Operands operands_;
  uint8_t* scratch_ = nullptr;
  size_t scratch_bytes_ = 0;
  int threads_ = 1;
  bool prepares_ = false;
};

// An operator with its generated attribute struct (operators without attributes have an empty one).
template <typename Attributes>
class OperatorOf : public Operator {
 protected:
  OperatorOf() : Operator(&attributes_) {}
  const Attributes& attributes() const { return attributes_; }

  Attributes attributes_;
};

// What the registry needs to make an operator; a constant for each of its classes, defined by one of
// the macros below.
struct OperatorFactory {
  DType dtype;  // of the first input; kNone: the class is for all types of the schema
  uint32_t bytes;
  Operator* (*construct)(void* memory);
};

template <typename Class>
constexpr OperatorFactory FactoryOf(DType dtype) {
  return {dtype, sizeof(Class), [](void* memory) -> Operator* { return ::new (memory) Class; }};
}

}  // namespace trimtab

// Makes class `Class` known to the generated registry, which looks for k<Class>Factory.
#define TRIMTAB_OPERATOR(Class)                                             \
  namespace trimtab {                                                       \
  extern const OperatorFactory k##Class##Factory;                           \
  const OperatorFactory k##Class##Factory = FactoryOf<Class>(DType::kNone); \
  }

// The same for an operator that has a class for each type of its first input (`typed` in its
// schema): Class<T>, where T is the C++ type, and Name what DType calls it (kName). Nothing but the
// registry refers to it, so the linker drops the classes for types that a binary has no use for.
#define TRIMTAB_TYPED_OPERATOR(Class, T, Name)                                         \
  namespace trimtab {                                                                  \
  static_assert(DTypeOf<T>::kValue == DType::k##Name, "the type's name");              \
  extern const OperatorFactory k##Class##Name##Factory;                                \
  const OperatorFactory k##Class##Name##Factory = FactoryOf<Class<T>>(DType::k##Name); \
  }

// The same for an operator that is an object of a class which all of its kind share, made of the
// arguments behind it. `Name`: the operator's and, if it is `typed`, the type's (AbsF32).
#define TRIMTAB_OPERATOR_OF(Name, dtype, Class, ...)                                              \
  namespace trimtab {                                                                             \
  extern const OperatorFactory k##Name##Factory;                                                  \
  const OperatorFactory k##Name##Factory = {dtype, sizeof(Class), [](void* memory) -> Operator* { \
                                              return ::new (memory) Class(__VA_ARGS__);           \
                                            }};                                                   \
  }

#endif  // TRIMTAB_CORE_OPERATOR_H_
