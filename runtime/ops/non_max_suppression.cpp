#include "generated/attributes/non_max_suppression.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/ops/boxes.h"

namespace trimtab {
namespace {

constexpr int32_t kRow = 3;  // image, class, box

class NonMaxSuppression final : public OperatorOf<NonMaxSuppressionAttributes> {
 public:
  // Single-threaded: the work per class differs too much to be shared evenly.
  void Run(ThreadPool&) override {
    const auto boxes = static_cast<size_t>(boxes_);
    const float* scores = input(1).data<float>();
    int64_t* const first = output(0).data<int64_t>();
    int64_t* row = first;
    for (int32_t image = 0; image < images_; ++image) {
      for (int32_t label = 0; label < classes_; ++label, scores += boxes)
        row = Suppress(image, label, scores, row);
    }
    output(1).data<int32_t>()[0] = static_cast<int32_t>((row - first) / kRow);
    for (const int64_t* const end = first + output(0).Count(); row < end; ++row) *row = -1;
  }

 protected:
  Status InferShape() override {
    const Dims &boxes = input(0).dims, &scores = input(1).dims;
    TRIMTAB_CHECK(boxes.rank == 3 && boxes[2] == 4, "boxes must be [n, m, 4] (rank)", boxes.rank);
    TRIMTAB_CHECK(scores.rank == 3 && scores[0] == boxes[0] && scores[2] == boxes[1],
                  "scores must be [n, classes, m] (rank)", scores.rank);
    const int64_t limit = attributes().max_boxes;
    TRIMTAB_CHECK(limit >= 1, "max_boxes is out of range", limit);
    images_ = boxes[0];
    boxes_ = boxes[1];
    classes_ = scores[1];
    per_class_ = limit < boxes_ ? static_cast<int32_t>(limit) : boxes_;
    // The scores have at most kMaxElements elements, so neither product overflows.
    const int64_t rows = int64_t{images_} * classes_ * per_class_;
    TRIMTAB_CHECK(rows <= kMaxElements / kRow, "too many rows", rows);
    output(0).dims = {2, {static_cast<int32_t>(rows), kRow}};
    output(0).dtype = DType::kI64;
    output(1).dims = {1, {1}};
    output(1).dtype = DType::kI32;
    return Status();
  }

  Status Prepare() override {
    return RequestScratch(static_cast<uint64_t>(per_class_) * sizeof(Box) +
                          static_cast<uint64_t>(boxes_) * sizeof(int32_t));
  }

 private:
  Box BoxAt(int32_t image, int32_t index) const {
    const float* const b =
        input(0).data<float>() +
        (static_cast<size_t>(image) * static_cast<size_t>(boxes_) + static_cast<size_t>(index)) * 4;
    if (attributes().center_size) {
      const float half_w = b[2] * 0.5f, half_h = b[3] * 0.5f;
      return {b[0] - half_w, b[1] - half_h, b[0] + half_w, b[1] + half_h};
    }
    return {fminf(b[0], b[2]), fminf(b[1], b[3]), fmaxf(b[0], b[2]), fmaxf(b[1], b[3])};
  }

  // Writes a row for each selected box of a class; returns the address of the next row.
  int64_t* Suppress(int32_t image, int32_t label, const float* scores, int64_t* row) {
    const auto boxes = static_cast<size_t>(boxes_), limit = static_cast<size_t>(per_class_);
    KeptBoxes kept = {scratch<Box>(), 0};
    auto* const order = reinterpret_cast<int32_t*>(kept.boxes + limit);
    const Ranking ranking = {scores, 1};
    size_t left = ranking.Above(attributes().score_threshold, boxes, order);
    ranking.MakeHeap(order, left);
    while (left > 0 && kept.count < limit) {
      const int32_t box = ranking.TakeBest(order, left--);
      if (!kept.Add(BoxAt(image, box), attributes().iou_threshold)) continue;
      row[0] = image;
      row[1] = label;
      row[2] = box;
      row += kRow;
    }
    return row;
  }

  int32_t images_ = 0;
  int32_t classes_ = 0;
  int32_t boxes_ = 0;
  int32_t per_class_ = 0;  // maximum number of selected boxes of an image and class
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(NonMaxSuppression)
