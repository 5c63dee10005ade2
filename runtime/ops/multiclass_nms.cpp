#include "generated/attributes/multiclass_nms.h"

#include "runtime/core/operator.h"
#include "runtime/ops/boxes.h"

namespace trimtab {
namespace {

constexpr int32_t kRow = 6;  // class, score, xmin, ymin, xmax, ymax

class MulticlassNms final : public OperatorOf<MulticlassNmsAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  int32_t Suppress(const Box* boxes, const float* scores, int32_t label, int32_t kept);
  int32_t KeepBest(int32_t kept);
  void Write(int32_t image, const Box* boxes, int32_t kept);

  int32_t images_ = 0;
  int32_t classes_ = 0;
  int32_t boxes_ = 0;
  int32_t candidates_ = 0;  // maximum number of boxes of a class that suppression considers
  int32_t max_boxes_ = 0;   // maximum number of boxes of all classes after suppression
  int32_t rows_ = 0;        // per image

  // Lists in scratch memory, set by Run.
  Box* suppressing_ = nullptr;    // [candidates_]: the selected boxes of a class
  float* kept_scores_ = nullptr;  // [max_boxes_]
  int32_t* kept_labels_ = nullptr;
  int32_t* kept_boxes_ = nullptr;
  int32_t* kept_order_ = nullptr;
  int32_t* order_ = nullptr;  // [boxes_]
};

Status MulticlassNms::InferShape() {
  const MulticlassNmsAttributes& a = attributes();
  const Dims &boxes = input(0).dims, &scores = input(1).dims;
  TRIMTAB_CHECK(boxes.rank == 3 && boxes[2] == 4, "boxes must be [n, m, 4] (rank)", boxes.rank);
  TRIMTAB_CHECK(scores.rank == 3 && scores[0] == boxes[0] && scores[2] == boxes[1],
                "scores must be [n, classes, m] (rank)", scores.rank);
  TRIMTAB_CHECK(scores[1] >= 1 && scores[1] <= INT16_MAX, "classes are out of range", scores[1]);
  TRIMTAB_CHECK(boxes[0] >= 1 && boxes[1] >= 1, "there are no boxes");
  TRIMTAB_CHECK(a.background >= -1 && a.background <= INT16_MAX, "background is out of range",
                a.background);
  TRIMTAB_CHECK(a.keep_top_k == -1 || a.keep_top_k >= 1, "keep_top_k is out of range",
                a.keep_top_k);
  TRIMTAB_CHECK(a.nms_top_k == -1 || a.nms_top_k >= 1, "nms_top_k is out of range", a.nms_top_k);
  images_ = boxes[0];
  classes_ = scores[1];
  boxes_ = boxes[1];
  const int64_t candidates = a.nms_top_k > 0 && a.nms_top_k < boxes_ ? a.nms_top_k : boxes_;
  const bool has_background = a.background >= 0 && a.background < classes_;
  const int64_t max_boxes = candidates * (classes_ - (has_background ? 1 : 0));
  TRIMTAB_CHECK(max_boxes >= 1 && max_boxes <= kMaxElements, "illegal number of candidates",
                max_boxes);
  const int64_t rows = a.keep_top_k > 0 && a.keep_top_k < max_boxes ? a.keep_top_k : max_boxes;
  TRIMTAB_CHECK(rows * images_ <= INT32_MAX / kRow, "too many rows", rows, images_);
  TRIMTAB_CHECK(int64_t{images_} * boxes_ <= INT32_MAX, "too many boxes", images_, boxes_);
  candidates_ = static_cast<int32_t>(candidates);
  max_boxes_ = static_cast<int32_t>(max_boxes);
  rows_ = static_cast<int32_t>(rows);
  Dims &y = output(0).dims, &indices = output(1).dims, &counts = output(2).dims;
  y.rank = indices.rank = 2;
  y[0] = indices[0] = rows_ * images_;
  y[1] = kRow;
  indices[1] = 1;
  counts.rank = 1;
  counts[0] = images_;
  output(1).dtype = output(2).dtype = DType::kI32;
  return Status();
}

Status MulticlassNms::Prepare() {
  const auto boxes = static_cast<uint64_t>(boxes_), candidates = static_cast<uint64_t>(candidates_);
  return RequestScratch(candidates * sizeof(Box) +
                        (boxes + 4 * static_cast<uint64_t>(max_boxes_)) * sizeof(int32_t));
}

// Appends the selected boxes of a class to the `kept` ones of earlier classes; returns the new
// number.
int32_t MulticlassNms::Suppress(const Box* boxes, const float* scores, int32_t label,
                                int32_t kept) {
  const MulticlassNmsAttributes& a = attributes();
  const Ranking ranking = {scores, 1};
  const size_t count = ranking.Above(a.score_threshold, static_cast<size_t>(boxes_), order_);
  const size_t looked_at =
      count < static_cast<size_t>(candidates_) ? count : static_cast<size_t>(candidates_);
  ranking.SelectBest(order_, count, looked_at);
  float threshold = a.nms_threshold;
  KeptBoxes stay = {suppressing_, 0, a.normalized ? 0.0f : 1.0f};
  for (size_t i = 0; i < looked_at; ++i) {
    const int32_t box = order_[count - 1 - i];
    if (!stay.Add(boxes[box], threshold)) continue;
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without scores there is no count
    kept_scores_[kept] = scores[box];
    kept_labels_[kept] = label;
    kept_boxes_[kept++] = box;
    if (threshold > 0.5f) threshold *= a.nms_eta;
  }
  return kept;
}

// Drops all but the best rows_ boxes without changing their order; returns the new number.
int32_t MulticlassNms::KeepBest(int32_t kept) {
  if (kept <= rows_) return kept;
  for (int32_t i = 0; i < kept; ++i) kept_order_[i] = i;
  const Ranking ranking = {kept_scores_, 1};
  ranking.SelectBest(kept_order_, static_cast<size_t>(kept), static_cast<size_t>(rows_));
  // Marks dropped boxes with an invalid class.
  for (int32_t i = 0; i < kept - rows_; ++i) kept_labels_[kept_order_[i]] = -1;
  int32_t left = 0;
  for (int32_t i = 0; i < kept; ++i) {
    if (kept_labels_[i] < 0) continue;
    kept_scores_[left] = kept_scores_[i];
    kept_labels_[left] = kept_labels_[i];
    kept_boxes_[left++] = kept_boxes_[i];
  }
  return left;
}

void MulticlassNms::Write(int32_t image, const Box* boxes, int32_t kept) {
  const size_t first = static_cast<size_t>(image) * static_cast<size_t>(rows_);
  float* row = output(0).data<float>() + first * kRow;
  int32_t* const index = output(1).data<int32_t>() + first;
  output(2).data<int32_t>()[image] = kept;
  for (int32_t i = 0; i < rows_; ++i, row += kRow) {
    if (i >= kept) {
      for (int32_t k = 0; k < kRow; ++k) row[k] = -1.0f;
      index[i] = -1;
      continue;
    }
    const Box& box = boxes[kept_boxes_[i]];
    row[0] = static_cast<float>(kept_labels_[i]);
    row[1] = kept_scores_[i];
    row[2] = box.xmin;
    row[3] = box.ymin;
    row[4] = box.xmax;
    row[5] = box.ymax;
    index[i] = image * boxes_ + kept_boxes_[i];
  }
}

// Single-threaded: most images need a few thousand comparisons, and the work per class differs too
// much to be shared evenly.
void MulticlassNms::Run(ThreadPool&) {
  const auto max_boxes = static_cast<size_t>(max_boxes_), boxes = static_cast<size_t>(boxes_);
  suppressing_ = scratch<Box>();
  kept_scores_ = reinterpret_cast<float*>(suppressing_ + candidates_);
  kept_labels_ = reinterpret_cast<int32_t*>(kept_scores_ + max_boxes);
  kept_boxes_ = kept_labels_ + max_boxes;
  kept_order_ = kept_boxes_ + max_boxes;
  order_ = kept_order_ + max_boxes;
  const float* scores = input(1).data<float>();
  const Box* image_boxes = static_cast<const Box*>(input(0).raw);
  for (int32_t image = 0; image < images_; ++image, image_boxes += boxes) {
    int32_t kept = 0;
    for (int32_t label = 0; label < classes_; ++label, scores += boxes) {
      if (label != attributes().background) kept = Suppress(image_boxes, scores, label, kept);
    }
    Write(image, image_boxes, KeepBest(kept));
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(MulticlassNms)
