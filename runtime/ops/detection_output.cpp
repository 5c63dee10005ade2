#include "generated/attributes/detection_output.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/ops/nms.h"

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
  float* Write(int32_t image, float* row);

  int32_t priors_ = 0;
  ClassNms nms_;
};

Status DetectionOutput::InferShape() {
  const DetectionOutputAttributes& a = attributes();
  const Tensor &locations = input(0), &scores = input(1), &priors = input(2);
  TRIMTAB_CHECK(a.classes >= 1 && a.classes <= INT16_MAX, "classes are out of range", a.classes);
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
  TRIMTAB_RETURN_IF_ERROR(
      nms_.Prepare(priors_, a.classes, a.background, a.nms_top_k, a.keep_top_k));
  const int64_t rows = (a.keep_top_k > 0 ? a.keep_top_k : nms_.max_count()) * scores.dims[0];
  TRIMTAB_CHECK(rows <= INT32_MAX / kRow, "too many rows", rows);
  Dims& y = output().dims;
  y.rank = 4;
  y[0] = y[1] = 1;
  y[2] = static_cast<int32_t>(rows);
  y[3] = kRow;
  return Status();
}

Status DetectionOutput::Prepare() { return RequestScratch(nms_.scratch_bytes()); }

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

// Writes the best boxes of an image; returns the next row.
float* DetectionOutput::Write(int32_t image, float* row) {
  const int64_t limit = attributes().keep_top_k;
  const size_t shown = limit > 0 && static_cast<size_t>(limit) < nms_.count
                           ? static_cast<size_t>(limit)
                           : nms_.count;
  nms_.Rank(shown);
  for (size_t best = 1; best <= shown; ++best, row += kRow) {
    const int32_t i = nms_.ranked[nms_.count - best];
    const Box box = Decode(image, nms_.labels[i], nms_.boxes[i]);
    row[0] = static_cast<float>(image);
    row[1] = static_cast<float>(nms_.labels[i]);
    row[2] = nms_.scores[i];
    row[3] = box.xmin;
    row[4] = box.ymin;
    row[5] = box.xmax;
    row[6] = box.ymax;
  }
  return row;
}

// Single-threaded: most images need a few thousand comparisons, and the work per class differs too
// much to be shared evenly.
void DetectionOutput::Run(ThreadPool&) {
  const DetectionOutputAttributes& a = attributes();
  const ClassNms::Limits limits = {a.confidence_threshold, a.nms_threshold, a.nms_eta, 0.0f};
  const auto classes = static_cast<size_t>(a.classes);
  const float* scores = input(1).data<float>();
  float* row = output().data<float>();
  float* const end = row + output().Count();
  for (int32_t image = 0; image < input(1).dims[0]; ++image) {
    nms_.Begin(scratch<Box>());
    for (int32_t label = 0; label < a.classes; ++label) {
      if (label == a.background) continue;
      nms_.Select({scores + label, classes}, label, limits,
                  [&](int32_t prior) { return Decode(image, label, prior); });
    }
    scores += static_cast<size_t>(priors_) * classes;
    row = Write(image, row);
  }
  while (row < end) *row++ = 0.0f;
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(DetectionOutput)
