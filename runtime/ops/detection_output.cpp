#include "generated/attributes/detection_output.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/ops/boxes.h"

namespace trimtab {
namespace {

constexpr int32_t kRow = 7;  // image, class, score, xmin, ymin, xmax, ymax

class DetectionOutput final : public OperatorOf<DetectionOutputAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  Box Decode(int32_t image, int32_t label, int32_t prior) const;
  int32_t Suppress(int32_t image, int32_t label, int32_t kept);

  int32_t priors_ = 0;
  int32_t candidates_ = 0;  // maximum number of boxes of a class that suppression considers
  int32_t max_boxes_ = 0;   // maximum number of boxes of all classes after suppression

  // Lists in scratch memory, set by Run.
  int32_t* order_ = nullptr;      // [priors_]
  Box* boxes_ = nullptr;          // [candidates_]: the selected boxes of a class
  float* kept_scores_ = nullptr;  // [max_boxes_]
  int32_t* kept_labels_ = nullptr;
  int32_t* kept_priors_ = nullptr;
  int32_t* kept_order_ = nullptr;
};

Status DetectionOutput::InferShape() {
  const DetectionOutputAttributes& a = attributes();
  const Tensor &locations = input(0), &scores = input(1), &priors = input(2);
  TRIMTAB_CHECK(a.classes >= 1 && a.classes <= INT16_MAX, "classes are out of range", a.classes);
  TRIMTAB_CHECK(a.background >= -1 && a.background <= INT16_MAX, "background is out of range",
                a.background);
  TRIMTAB_CHECK(a.keep_top_k == -1 || a.keep_top_k >= 1, "keep_top_k is out of range",
                a.keep_top_k);
  TRIMTAB_CHECK(a.nms_top_k == -1 || a.nms_top_k >= 1, "nms_top_k is out of range", a.nms_top_k);
  TRIMTAB_CHECK(priors.dims.rank == 3 && priors.dims[0] == 1 && priors.dims[1] == 2 &&
                    priors.dims[2] % 4 == 0 && priors.dims[2] > 0,
                "priors must be [1, 2, 4 * priors] (rank)", priors.dims.rank);
  priors_ = priors.dims[2] / 4;
  TRIMTAB_CHECK(locations.dims.rank >= 2 && scores.dims.rank >= 2 && scores.dims[0] > 0 &&
                    locations.dims[0] == scores.dims[0],
                "locations and scores must have one batch");
  const int64_t per_prior = 4 * (a.share_location ? 1 : a.classes);
  TRIMTAB_CHECK(locations.dims.Count(1, locations.dims.rank) == priors_ * per_prior,
                "locations do not fit the priors (values, priors)",
                locations.dims.Count(1, locations.dims.rank), priors_);
  TRIMTAB_CHECK(scores.dims.Count(1, scores.dims.rank) == priors_ * a.classes,
                "scores do not fit the priors and classes (values, priors)",
                scores.dims.Count(1, scores.dims.rank), priors_);
  const int64_t candidates = a.nms_top_k > 0 && a.nms_top_k < priors_ ? a.nms_top_k : priors_;
  const bool has_background = a.background >= 0 && a.background < a.classes;
  const int64_t max_boxes = candidates * (a.classes - (has_background ? 1 : 0));
  TRIMTAB_CHECK(max_boxes >= 1 && max_boxes <= kMaxElements, "illegal number of candidates",
                max_boxes);
  candidates_ = static_cast<int32_t>(candidates);
  max_boxes_ = static_cast<int32_t>(max_boxes);
  TRIMTAB_CHECK(a.keep_top_k <= INT32_MAX, "keep_top_k is out of range", a.keep_top_k);
  const int64_t rows = (a.keep_top_k > 0 ? a.keep_top_k : max_boxes) * scores.dims[0];
  TRIMTAB_CHECK(rows <= INT32_MAX / kRow, "too many rows", rows);
  Dims& y = output().dims;
  y.rank = 4;
  y[0] = y[1] = 1;
  y[2] = static_cast<int32_t>(rows);
  y[3] = kRow;
  return Status();
}

Status DetectionOutput::Prepare() {
  const auto priors = static_cast<uint64_t>(priors_),
             candidates = static_cast<uint64_t>(candidates_);
  return RequestScratch(candidates * sizeof(Box) +
                        (priors + 4 * static_cast<uint64_t>(max_boxes_)) * sizeof(int32_t));
}

Box DetectionOutput::Decode(int32_t image, int32_t label, int32_t prior) const {
  const DetectionOutputAttributes& a = attributes();
  const int64_t locations = a.share_location ? 1 : a.classes;
  const float* const offset =
      input(0).data<float>() +
      ((int64_t{image} * priors_ + prior) * locations + (a.share_location ? 0 : label)) * 4;
  const float* const p = input(2).data<float>() + int64_t{prior} * 4;
  const float* const variance = p + int64_t{priors_} * 4;
  float d[4];
  for (int i = 0; i < 4; ++i) d[i] = offset[i] * (a.variance_encoded ? 1.0f : variance[i]);
  const float w = p[2] - p[0], h = p[3] - p[1];
  if (a.code_type == DetectionOutputCodeType::kCenterSize) {
    const float x = d[0] * w + (p[0] + p[2]) * 0.5f, y = d[1] * h + (p[1] + p[3]) * 0.5f;
    const float half_w = expf(d[2]) * w * 0.5f, half_h = expf(d[3]) * h * 0.5f;
    return {x - half_w, y - half_h, x + half_w, y + half_h};
  }
  const bool in_sizes = a.code_type == DetectionOutputCodeType::kCornerSize;
  const float unit_x = in_sizes ? w : 1.0f, unit_y = in_sizes ? h : 1.0f;
  return {p[0] + d[0] * unit_x, p[1] + d[1] * unit_y, p[2] + d[2] * unit_x, p[3] + d[3] * unit_y};
}

// Appends the selected boxes of a class to the `kept` ones of earlier classes; returns the new
// number.
int32_t DetectionOutput::Suppress(int32_t image, int32_t label, int32_t kept) {
  const DetectionOutputAttributes& a = attributes();
  const auto classes = static_cast<size_t>(a.classes);
  const float* const scores = input(1).data<float>() +
                              static_cast<size_t>(image) * static_cast<size_t>(priors_) * classes +
                              label;
  const Ranking ranking = {scores, classes};
  const size_t count = ranking.Above(a.confidence_threshold, static_cast<size_t>(priors_), order_);
  const size_t looked_at =
      count < static_cast<size_t>(candidates_) ? count : static_cast<size_t>(candidates_);
  ranking.SelectBest(order_, count, looked_at);
  float threshold = a.nms_threshold;
  KeptBoxes boxes = {boxes_, 0};
  for (size_t i = 0; i < looked_at; ++i) {
    const int32_t prior = order_[count - 1 - i];
    if (!boxes.Add(Decode(image, label, prior), threshold)) continue;
    kept_scores_[kept] = scores[static_cast<size_t>(prior) * classes];
    kept_labels_[kept] = label;
    kept_priors_[kept++] = prior;
    if (threshold > 0.5f) threshold *= a.nms_eta;
  }
  return kept;
}

// Single-threaded: most images need a few thousand comparisons, and the work per class differs too
// much to be shared evenly.
void DetectionOutput::Run(ThreadPool&) {
  const auto max_boxes = static_cast<size_t>(max_boxes_);
  boxes_ = scratch<Box>();
  kept_scores_ = reinterpret_cast<float*>(boxes_ + candidates_);
  kept_labels_ = reinterpret_cast<int32_t*>(kept_scores_ + max_boxes);
  kept_priors_ = kept_labels_ + max_boxes;
  kept_order_ = kept_priors_ + max_boxes;
  order_ = kept_order_ + max_boxes;
  float* row = output().data<float>();
  float* const end = row + output().Count();
  for (int32_t image = 0; image < input(1).dims[0]; ++image) {
    int32_t kept = 0;
    for (int32_t label = 0; label < attributes().classes; ++label) {
      if (label != attributes().background) kept = Suppress(image, label, kept);
    }
    for (int32_t i = 0; i < kept; ++i) kept_order_[i] = i;
    const int64_t limit = attributes().keep_top_k;
    const int32_t shown = limit > 0 && limit < kept ? static_cast<int32_t>(limit) : kept;
    const Ranking ranking = {kept_scores_, 1};
    ranking.SelectBest(kept_order_, static_cast<size_t>(kept), static_cast<size_t>(shown));
    for (int32_t best = 1; best <= shown; ++best, row += kRow) {
      const int32_t i = kept_order_[kept - best];
      const Box box = Decode(image, kept_labels_[i], kept_priors_[i]);
      row[0] = static_cast<float>(image);
      row[1] = static_cast<float>(kept_labels_[i]);
      row[2] = kept_scores_[i];
      row[3] = box.xmin;
      row[4] = box.ymin;
      row[5] = box.xmax;
      row[6] = box.ymax;
    }
  }
  while (row < end) *row++ = 0.0f;
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(DetectionOutput)
