#include "generated/attributes/multiclass_nms.h"

#include "runtime/core/operator.h"
#include "runtime/ops/nms.h"

namespace trimtab {
namespace {

constexpr int32_t kRow = 6;  // class, score, xmin, ymin, xmax, ymax

class MulticlassNms final : public OperatorOf<MulticlassNmsAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  void KeepBest();
  void Write(int32_t image, const Box* boxes);

  int32_t images_ = 0;
  int32_t classes_ = 0;
  int32_t boxes_ = 0;
  int32_t rows_ = 0;  // per image
  ClassNms nms_;
};

Status MulticlassNms::InferShape() {
  const MulticlassNmsAttributes& a = attributes();
  const Dims &boxes = input(0).dims, &scores = input(1).dims;
  TRIMTAB_CHECK(boxes.rank == 3 && boxes[2] == 4, "boxes must be [n, m, 4] (rank)", boxes.rank);
  TRIMTAB_CHECK(scores.rank == 3 && scores[0] == boxes[0] && scores[2] == boxes[1],
                "scores must be [n, classes, m] (rank)", scores.rank);
  TRIMTAB_CHECK(scores[1] >= 1 && scores[1] <= INT16_MAX, "classes are out of range", scores[1]);
  TRIMTAB_CHECK(boxes[0] >= 1 && boxes[1] >= 1, "there are no boxes");
  images_ = boxes[0];
  classes_ = scores[1];
  boxes_ = boxes[1];
  TRIMTAB_RETURN_IF_ERROR(nms_.Prepare(boxes_, classes_, a.background, a.nms_top_k, a.keep_top_k));
  const int64_t max_count = nms_.max_count();
  const int64_t rows = a.keep_top_k > 0 && a.keep_top_k < max_count ? a.keep_top_k : max_count;
  TRIMTAB_CHECK(rows * images_ <= INT32_MAX / kRow, "too many rows", rows, images_);
  TRIMTAB_CHECK(int64_t{images_} * boxes_ <= INT32_MAX, "too many boxes", images_, boxes_);
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

Status MulticlassNms::Prepare() { return RequestScratch(nms_.scratch_bytes()); }

// Drops all but the best rows_ boxes without changing their order.
void MulticlassNms::KeepBest() {
  const auto rows = static_cast<size_t>(rows_);
  if (nms_.count <= rows) return;
  nms_.Rank(rows);
  // Marks dropped boxes with an invalid class.
  for (size_t i = 0; i < nms_.count - rows; ++i) nms_.labels[nms_.ranked[i]] = -1;
  size_t left = 0;
  for (size_t i = 0; i < nms_.count; ++i) {
    if (nms_.labels[i] < 0) continue;
    nms_.scores[left] = nms_.scores[i];
    nms_.labels[left] = nms_.labels[i];
    nms_.boxes[left++] = nms_.boxes[i];
  }
  nms_.count = left;
}

void MulticlassNms::Write(int32_t image, const Box* boxes) {
  const size_t first = static_cast<size_t>(image) * static_cast<size_t>(rows_);
  const auto count = static_cast<int32_t>(nms_.count);
  float* row = output(0).data<float>() + first * kRow;
  int32_t* const index = output(1).data<int32_t>() + first;
  output(2).data<int32_t>()[image] = count;
  for (int32_t i = 0; i < rows_; ++i, row += kRow) {
    if (i >= count) {
      for (int32_t k = 0; k < kRow; ++k) row[k] = -1.0f;
      index[i] = -1;
      continue;
    }
    const Box& box = boxes[nms_.boxes[i]];
    row[0] = static_cast<float>(nms_.labels[i]);
    row[1] = nms_.scores[i];
    row[2] = box.xmin;
    row[3] = box.ymin;
    row[4] = box.xmax;
    row[5] = box.ymax;
    index[i] = image * boxes_ + nms_.boxes[i];
  }
}

// Single-threaded: most images need a few thousand comparisons, and the work per class differs too
// much to be shared evenly.
void MulticlassNms::Run(ThreadPool&) {
  const MulticlassNmsAttributes& a = attributes();
  const ClassNms::Limits limits = {a.score_threshold, a.nms_threshold, a.nms_eta,
                                   a.normalized ? 0.0f : 1.0f};
  const auto boxes = static_cast<size_t>(boxes_);
  const float* scores = input(1).data<float>();
  const Box* image_boxes = static_cast<const Box*>(input(0).raw);
  for (int32_t image = 0; image < images_; ++image, image_boxes += boxes) {
    nms_.Begin(scratch<Box>());
    for (int32_t label = 0; label < classes_; ++label, scores += boxes) {
      if (label == a.background) continue;
      nms_.Select({scores, 1}, label, limits, [&](int32_t box) { return image_boxes[box]; });
    }
    KeepBest();
    Write(image, image_boxes);
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(MulticlassNms)
