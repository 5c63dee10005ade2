#include "generated/attributes/suppress_boxes.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/ops/boxes_output.h"

namespace trimtab {
namespace {

class SuppressBoxes final : public OperatorOf<SuppressBoxesAttributes> {
 public:
  // Single-threaded: there are few boxes.
  void Run(ThreadPool&) override {
    const Dims& from = input(0).dims;
    const auto candidates = static_cast<size_t>(from[1]);
    const auto rows = static_cast<size_t>(output(0).dims[1]);
    const auto* boxes = static_cast<const ScoredBox*>(input(0).raw);
    const int32_t* indices = data<int32_t>(2);
    auto* y = static_cast<ScoredBox*>(output(0).raw);
    int32_t* numbers = result<int32_t>(2);
    for (int32_t image = 0; image < from[0]; ++image) {
      // The count is data: it may be any number.
      const int32_t count = data<int32_t>(1)[image];
      const size_t used = count < 0 ? 0 : static_cast<size_t>(count);
      const size_t kept =
          Select(boxes, indices, used < candidates ? used : candidates, y, numbers, rows);
      for (size_t i = 0; i < kept; ++i) Clip(&y[i].box);
      for (size_t i = kept; i < rows; ++i) {
        y[i] = ScoredBox{};
        numbers[i] = 0;
      }
      result<int32_t>(1)[image] = static_cast<int32_t>(kept);
      boxes += candidates;
      indices += candidates;
      y += rows;
      numbers += rows;
    }
  }

 protected:
  Status InferShape() override {
    const Dims &boxes = input(0).dims, &counts = input(1).dims, &indices = input(2).dims;
    TRIMTAB_CHECK(boxes.rank == 3 && boxes[2] == kBoxValues, "boxes must be [n, m, 6] (rank)",
                  boxes.rank);
    TRIMTAB_CHECK(counts.rank == 1 && counts[0] == boxes[0], "counts must be [n] (rank)",
                  counts.rank);
    TRIMTAB_CHECK(indices.rank == 2 && indices[0] == boxes[0] && indices[1] == boxes[1],
                  "indices must be [n, m] (rank)", indices.rank);
    TRIMTAB_CHECK(input(1).dtype == DType::kI32 && input(2).dtype == DType::kI32,
                  "counts and indices must be i32");
    const int64_t limit = attributes().max_boxes, per_class = attributes().max_per_class;
    TRIMTAB_CHECK(limit >= 1, "max_boxes is out of range", limit);
    TRIMTAB_CHECK(per_class == -1 || per_class >= 1, "max_per_class is out of range", per_class);
    SetBoxOutputs(&output(0), &output(1), &output(2), boxes[0],
                  limit < boxes[1] ? limit : boxes[1]);
    return Status();
  }

 private:
  // Copies the boxes that no better one suppresses; returns their number.
  size_t Select(const ScoredBox* boxes, const int32_t* indices, size_t count, ScoredBox* y,
                int32_t* numbers, size_t rows) const {
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < rows; ++i) {
      if (IsSuppressed(boxes[i], y, kept)) continue;
      y[kept] = boxes[i];
      numbers[kept++] = indices[i];
    }
    return kept;
  }

  bool IsSuppressed(const ScoredBox& box, const ScoredBox* kept, size_t count) const {
    int64_t same = 0;
    for (size_t i = 0; i < count; ++i) {
      const bool is_same = kept[i].label == box.label;
      if ((is_same || attributes().class_agnostic) &&
          !(Overlap(box.box, kept[i].box) <= attributes().iou_threshold))
        return true;
      same += is_same ? 1 : 0;
    }
    return attributes().max_per_class > 0 && same >= attributes().max_per_class;
  }

  void Clip(Box* box) const {
    const float w = attributes().frame[0], h = attributes().frame[1];
    if (w > 0.0f) {
      box->xmin = fminf(fmaxf(box->xmin, 0.0f), w);
      box->xmax = fminf(fmaxf(box->xmax, 0.0f), w);
    }
    if (h > 0.0f) {
      box->ymin = fminf(fmaxf(box->ymin, 0.0f), h);
      box->ymax = fminf(fmaxf(box->ymax, 0.0f), h);
    }
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(SuppressBoxes)
