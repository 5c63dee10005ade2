#include "generated/attributes/integer_arithmetic.h"

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/integer_element.h"

namespace trimtab {
namespace {

// Unsigned, because overflow of signed numbers is undefined.
int64_t Product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t Power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? 1 - 2 * (exponent & 1) : 0;
  int64_t y = 1;
  for (; exponent > 0; exponent >>= 1, base = Product(base, base)) {
    if ((exponent & 1) != 0) y = Product(y, base);
  }
  return y;
}

// Truncated quotient or remainder; 0 for a divisor of 0.
int64_t Divided(int64_t a, int64_t b, bool remainder) {
  if (b == 0) return 0;
  if (b == -1) return remainder ? 0 : Product(a, -1);  // the quotient of INT64_MIN overflows
  return remainder ? a % b : a / b;
}

class IntegerArithmetic final : public OperatorOf<IntegerArithmeticAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor &a = input(0), &b = input(1);
    Tensor& y = output();
    const size_t bytes = y.element_size();
    walk_.For(pool, 8, [&](const BroadcastRun& run) {
      uint8_t* to = static_cast<uint8_t*>(y.raw) + run.begin * bytes;
      for (size_t i = 0; i < run.count; ++i, to += bytes) {
        // Little-endian: the low bytes come first, so that the result wraps around.
        const int64_t value = Compute(IntegerElement(a, run.offsets[0] + i * walk_.Step(0)),
                                      IntegerElement(b, run.offsets[1] + i * walk_.Step(1)));
        CopyElement(to, &value, bytes);
      }
    });
  }

 protected:
  Status InferShape() override {
    const Tensor* const operands[] = {&input(0), &input(1)};
    TRIMTAB_CHECK(operands[0]->dtype == operands[1]->dtype, "a and b must be of one type (types)",
                  static_cast<int64_t>(operands[0]->dtype),
                  static_cast<int64_t>(operands[1]->dtype));
    bits_ = static_cast<int64_t>(operands[0]->element_size() * 8);
    return walk_.SetUp(operands, 2, &output().dims);
  }

 private:
  int64_t Compute(int64_t a, int64_t b) const {
    using Function = IntegerArithmeticFunction;
    switch (attributes().function) {
      case Function::kAdd:
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      case Function::kSub:
        return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
      case Function::kMul:
        return Product(a, b);
      case Function::kDiv:
        return Divided(a, b, false);
      case Function::kRemainder:
        return Divided(a, b, true);
      case Function::kFloorMod: {
        const int64_t rest = Divided(a, b, true);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      }
      case Function::kPow:
        return Power(a, b);
      case Function::kShiftLeft:
        return b < 0 || b >= bits_ ? 0 : Product(a, static_cast<int64_t>(uint64_t{1} << b));
      case Function::kShiftRight:
        return b < 0 || b >= bits_ ? (a < 0 ? -1 : 0) : a >> b;
      case Function::kBitAnd:
        return a & b;
      case Function::kBitOr:
        return a | b;
      case Function::kBitXor:
        break;
    }
    return a ^ b;
  }

  int64_t bits_ = 8;  // of an element
  Broadcast walk_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(IntegerArithmetic)
