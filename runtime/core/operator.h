// Base class of all operators (template method): SetUp checks, decodes and binds; Run computes. A
// derived class implements only its own steps.
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
  // output shapes. Shape inference outside of an executor needs only this.
  Status SetUpShapes(const OperatorRow& row, const Operands& operands, const uint8_t* attributes,
                     size_t attribute_bytes);

  // Binds kernels, checks packed weights, requests scratch memory. `threads`: size of the pool.
  Status SetUpRun(int threads) {
    threads_ = threads;
    scratch_bytes_ = 0;
    return has_results_ ? Prepare() : Status();
  }

  // Infers output shapes and prepares again after input dimensions changed.
  Status Reshape() {
    TRIMTAB_RETURN_IF_ERROR(InferSizes());
    return SetUpRun(threads_);
  }

  // Computes the results, if they have any elements. Cannot fail and allocates nothing.
  void Compute(ThreadPool& pool) {
    if (has_results_) Run(pool);
  }
  // The same for an operator that sets the sizes of its results, also to none.
  void ComputeAny(ThreadPool& pool) { Run(pool); }

  // True if the operator prepares a constant: it runs once, when the model is set up, and Prepare()
  // sets the size of the output in bytes.
  bool prepares() const { return prepares_; }

  size_t scratch_bytes() const { return scratch_bytes_; }
  void set_scratch(void* scratch) { scratch_ = static_cast<uint8_t*>(scratch); }

 protected:
  // `attributes`: where the attributes are decoded to: the operator's generated struct, or one that
  // begins with the same members.
  explicit Operator(void* attributes) : attribute_storage_(attributes) {}
  ~Operator() = default;  // never deleted through the base: operators live in the executor's arena

  // Sets dims (and dtype where it differs from the first input's) of every output.
  virtual Status InferShape() = 0;
  // Called when a result has elements; and so has every input, unless the schema says
  // `accepts_empty`.
  virtual Status Prepare() { return Status(); }
  virtual void Run(ThreadPool& pool) = 0;

  int input_count() const { return operands_.input_count; }
  int output_count() const { return operands_.output_count; }
  bool has_input(int i) const {
    return i < operands_.input_count && operands_.inputs[i] != nullptr;
  }
  const Tensor& input(int i) const { return *operands_.inputs[i]; }
  // Null if the input is absent.
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
  // `bytes` is 64 bits wide and cannot overflow (kMaxElements): an excessive request is an error
  // and does not wrap on a 32-bit device.
  Status RequestScratch(uint64_t bytes);
  // 64-byte aligned; valid in Run only and shared with other operators between runs.
  template <typename T>
  T* scratch(size_t byte_offset = 0) const {
    return reinterpret_cast<T*>(scratch_ + byte_offset);
  }

 private:
  // Calls InferShape, and checks that the results' elements can be counted and are not made of
  // nothing.
  Status InferSizes();

  void* attribute_storage_;
  Operands operands_;
  uint8_t* scratch_ = nullptr;
  size_t scratch_bytes_ = 0;
  int threads_ = 1;
  bool prepares_ = false;
  bool accepts_empty_ = false;
  bool has_results_ = false;  // an output has elements
};

// An operator with its generated attribute struct (operators without attributes have an empty one).
template <typename Attributes>
class OperatorOf : public Operator {
 protected:
  OperatorOf() : Operator(&attributes_) {}
  const Attributes& attributes() const { return attributes_; }

  Attributes attributes_;
};

// How the registry constructs an operator: one constant for each of its classes, defined by one of
// the macros below.
struct OperatorFactory {
  DType dtype;  // type of the first input; kNone: the class serves all types of the schema
  uint32_t bytes;
  Operator* (*construct)(void* memory);
};

template <typename Class>
constexpr OperatorFactory FactoryOf(DType dtype) {
  return {dtype, sizeof(Class), [](void* memory) -> Operator* { return ::new (memory) Class; }};
}

}  // namespace trimtab

// Registers class `Class`: defines k<Class>Factory, which the generated registry refers to.
#define TRIMTAB_OPERATOR(Class)                                             \
  namespace trimtab {                                                       \
  extern const OperatorFactory k##Class##Factory;                           \
  const OperatorFactory k##Class##Factory = FactoryOf<Class>(DType::kNone); \
  }

// Registers class Class<T> of an operator that has a class for each type of its first input
// (`typed` in its schema). `Name`: the type's name in DType (kName). Only the registry refers to
// the factory, so the linker drops classes for types that a binary does not use.
#define TRIMTAB_TYPED_OPERATOR(Class, T, Name)                                         \
  namespace trimtab {                                                                  \
  static_assert(DTypeOf<T>::kValue == DType::k##Name, "the type's name");              \
  extern const OperatorFactory k##Class##Name##Factory;                                \
  const OperatorFactory k##Class##Name##Factory = FactoryOf<Class<T>>(DType::k##Name); \
  }

// Registers an operator that is an object of a class shared by several operators, constructed with
// the arguments after `Class`. `Name`: the operator's name and, if it is `typed`, the type's
// (AbsF32).
#define TRIMTAB_OPERATOR_OF(Name, dtype, Class, ...)                                              \
  namespace trimtab {                                                                             \
  extern const OperatorFactory k##Name##Factory;                                                  \
  const OperatorFactory k##Name##Factory = {dtype, sizeof(Class), [](void* memory) -> Operator* { \
                                              return ::new (memory) Class(__VA_ARGS__);           \
                                            }};                                                   \
  }

#endif  // TRIMTAB_CORE_OPERATOR_H_
