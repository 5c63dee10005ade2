// The step of an optimizer as an operator: inputs are a parameter, its gradient, the rate, two optional
// numbers, and the optimizer's states; results are the next values of parameter and states.
#ifndef TRIMTAB_OPS_UPDATE_H_
#define TRIMTAB_OPS_UPDATE_H_

#include <string.h>

#include "runtime/core/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {

// A derived class binds the kernel and adds what its attributes alone have.
template <typename Attributes>
class UpdateOperator : public OperatorOf<Attributes> {
 public:
  void Run(ThreadPool& pool) override {
    const size_t count = static_cast<size_t>(this->output().Count());
    if (this->has_input(kIsUpdate) && *this->template data<float>(kIsUpdate) == 0) {
      for (int j = 0; j < values(); ++j)
        memmove(this->output(j).raw, Value(j), count * sizeof(float));
      return;
    }
    UpdateArgs<float> args = {};
    const float* const scale = this->template optional_data<float>(kScale);
    args.scale = this->attributes().gradient_factor * (scale != nullptr ? *scale : 1.0f);
    args.rate = *this->template data<float>(kRate) * this->attributes().rate_factor;
    args.decay = this->attributes().decay;
    args.signs =
        this->attributes().regularization == decltype(this->attributes().regularization)::kL1;
    args.momentum = this->attributes().momentum;
    SetUp(&args);
    const float* const gradient = this->template data<float>(kGradient);
    pool.For(count, kCost, [&, args](size_t begin, size_t end, int) {
      UpdateArgs<float> part = args;
      part.n = end - begin;
      part.gradient = gradient + begin;
      for (int j = 0; j < values(); ++j) {
        part.x[j] = Value(j) + begin;
        part.y[j] = this->template result<float>(j) + begin;
      }
      kernel_(part);
    });
  }

 protected:
  Status InferShape() override {
    const Dims& dims = this->input(0).dims;
    TRIMTAB_CHECK(this->output_count() == values(),
                  "results are not those of the states (expected)", values());
    for (int i = 0; i < this->input_count(); ++i) {
      if (!this->has_input(i)) continue;
      const bool is_number = i >= kRate && i < kFirstState;
      TRIMTAB_CHECK(is_number ? this->input(i).Count() == 1 : this->input(i).dims == dims,
                    "an input has not the shape of the parameter, or is no number (its index)", i);
    }
    for (int j = 0; j < values(); ++j) this->output(j).dims = dims;
    return Status();
  }

  virtual void SetUp(UpdateArgs<float>* args) const = 0;

  Kernel<UpdateArgs<float>> kernel_ = nullptr;

 private:
  enum { kGradient = 1, kRate, kScale, kIsUpdate, kFirstState };
  static constexpr size_t kCost = 8;  // of an element

  // The parameter and the states that are present.
  int values() const {
    int count = 1;
    while (this->has_input(kFirstState + count - 1)) ++count;
    return count;
  }
  const float* Value(int j) const {
    return this->template data<float>(j == 0 ? 0 : kFirstState + j - 1);
  }
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_UPDATE_H_
