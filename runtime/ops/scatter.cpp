#include "generated/attributes/scatter.h"

#include <string.h>

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/integer_element.h"

namespace trimtab {
namespace {

class Scatter final : public OperatorOf<ScatterAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor &x = input(0), &places = input(1), &updates = input(2);
    const Tensor& y = output();
    if (y.raw != x.raw) memcpy(y.raw, x.raw, y.CountBytes());
    const int64_t rows = x.dims[0];
    const auto row_elements = static_cast<size_t>(x.dims[1]);
    const auto count = static_cast<size_t>(places.dims[0]);
    // Threads share the columns: updates of one element keep their order.
    pool.For(row_elements, 4 * count, [&](size_t begin, size_t end, int) {
      for (size_t i = 0; i < count; ++i) {
        const int64_t row = IntegerElement(places, i);
        if (row < 0 || row >= rows) continue;
        Update(y, static_cast<size_t>(row) * row_elements + begin, updates,
               i * row_elements + begin, end - begin);
      }
    });
  }

 protected:
  Status InferShape() override {
    const Tensor &x = input(0), &places = input(1), &updates = input(2);
    TRIMTAB_CHECK(x.dims.rank == 2 && updates.dims.rank == 2 && places.dims.rank == 1,
                  "x and updates are matrices, and places are a vector (ranks of x, of places)",
                  x.dims.rank, places.dims.rank);
    TRIMTAB_CHECK(updates.dims[0] == places.dims[0] && updates.dims[1] == x.dims[1],
                  "updates are not one row of x for each place (rows, their elements)",
                  updates.dims[0], updates.dims[1]);
    TRIMTAB_CHECK(updates.dtype == x.dtype, "x and updates must be of one type (types)",
                  static_cast<int64_t>(x.dtype), static_cast<int64_t>(updates.dtype));
    output().dims = x.dims;
    return Status();
  }

 private:
  using Reduction = ScatterReduction;

  // Combines `count` elements of y from `to` on with those of the updates from `from` on.
  void Update(const Tensor& y, size_t to, const Tensor& updates, size_t from, size_t count) const {
    const size_t bytes = y.element_size();
    auto* const place = static_cast<uint8_t*>(y.raw) + to * bytes;
    if (attributes().reduction == Reduction::kNone) {
      memcpy(place, static_cast<const uint8_t*>(updates.raw) + from * bytes, count * bytes);
    } else if (y.dtype == DType::kF32) {
      for (size_t i = 0; i < count; ++i) {
        float& value = static_cast<float*>(y.raw)[to + i];
        value = CombineFloats(value, updates.data<float>()[from + i]);
      }
    } else {
      for (size_t i = 0; i < count; ++i) {
        // Little-endian: the low bytes come first, so that the result wraps around.
        const int64_t value =
            CombineIntegers(IntegerElement(y, to + i), IntegerElement(updates, from + i));
        CopyElement(place + i * bytes, &value, bytes);
      }
    }
  }

  float CombineFloats(float a, float b) const {
    switch (attributes().reduction) {
      case Reduction::kAdd:
        return a + b;
      case Reduction::kMul:
        return a * b;
      case Reduction::kMax:
        return a < b ? b : a;
      default:
        return b < a ? b : a;
    }
  }

  // Unsigned sums and products, because overflow of signed numbers is undefined.
  int64_t CombineIntegers(int64_t a, int64_t b) const {
    switch (attributes().reduction) {
      case Reduction::kAdd:
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      case Reduction::kMul:
        return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      case Reduction::kMax:
        return a < b ? b : a;
      default:
        return b < a ? b : a;
    }
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Scatter)
