#include "generated/attributes/boxes_to_frame.h"

#include "runtime/core/operator.h"
#include "runtime/ops/boxes_output.h"

namespace trimtab {
namespace {

constexpr int32_t kPointValues = 3, kPlacementValues = 6;

class BoxesToFrame final : public OperatorOf<BoxesToFrameAttributes> {
 public:
  // Single-threaded: there are few boxes.
  void Run(ThreadPool&) override {
    const Dims& dims = input(0).dims;
    const auto rows = static_cast<size_t>(dims[1]);
    const auto values = static_cast<size_t>(dims.Count(2, dims.rank));
    const float* x = data<float>(0);
    float* y = result<float>();
    for (int32_t image = 0; image < dims[0]; ++image) {
      // The count is data: it may be any number.
      const int32_t count = data<int32_t>(1)[image];
      const size_t used = count < 0 ? 0 : static_cast<size_t>(count);
      for (size_t row = 0; row < rows; ++row) {
        for (size_t i = 0; i < values; ++i)
          y[i] = row < used && IsCoordinate(i) ? ToFrame(x[i], i % Step() % 2) : x[i];
        x += values;
        y += values;
      }
    }
  }

 protected:
  Status InferShape() override {
    const Dims &x = input(0).dims, &counts = input(1).dims, &placement = input(2).dims;
    TRIMTAB_CHECK((x.rank == 3 && x[2] == kBoxValues) || (x.rank == 4 && x[3] == kPointValues),
                  "x must be boxes [n, m, 6] or points [n, m, points, 3] (rank)", x.rank);
    TRIMTAB_CHECK(counts.rank == 1 && counts[0] == x[0] && input(1).dtype == DType::kI32,
                  "counts must be i32[n] (rank)", counts.rank);
    TRIMTAB_CHECK(placement.rank == 1 && placement[0] == kPlacementValues,
                  "placement must be [6] (rank)", placement.rank);
    output().dims = x;
    return Status();
  }

 private:
  // Values of a box or of a point.
  size_t Step() const {
    return static_cast<size_t>(input(0).dims.rank == 3 ? kBoxValues : kPointValues);
  }
  bool IsCoordinate(size_t i) const { return i % Step() < (input(0).dims.rank == 3 ? 4u : 2u); }

  float ToFrame(float v, size_t axis) const {
    const float* const placement = data<float>(2);
    const float moved = v * placement[axis] + placement[axis + 2], size = placement[axis + 4];
    const float low = moved < 0.0f ? 0.0f : moved;
    return low > size ? size : low;
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(BoxesToFrame)
