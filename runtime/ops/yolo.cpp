#include "generated/attributes/yolo.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/boxes.h"

namespace trimtab {
namespace {

constexpr int32_t kFirstClass = 5;  // after x, y, width, height, objectness

class Yolo final : public OperatorOf<YoloAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  void DecodeBox(const float* x, float column, float row, const float* anchor, float* y) const;
  void DecodeScores(const float* x, float* y) const;
  void Suppress(float* rows, size_t count) const;

  int32_t anchors_ = 0;
  int32_t row_ = 0;  // values per box
};

Status Yolo::InferShape() {
  const Tensor& x = input(0);
  const FloatList& anchors = attributes().anchors;
  TRIMTAB_CHECK(x.dims.rank == 4, "the input must be [n, c, h, w] (rank)", x.dims.rank);
  TRIMTAB_CHECK(anchors.size >= 2 && anchors.size % 2 == 0 && anchors.size <= INT16_MAX,
                "anchors must be pairs", anchors.size);
  anchors_ = static_cast<int32_t>(anchors.size / 2);
  row_ = x.c() / anchors_;
  TRIMTAB_CHECK(x.c() % anchors_ == 0 && row_ >= kFirstClass,
                "the channels do not fit the anchors (channels, anchors)", x.c(), anchors_);
  const int64_t boxes = int64_t{x.h()} * x.w() * anchors_;
  TRIMTAB_CHECK(boxes <= INT32_MAX, "too many boxes", boxes);
  Dims& y = output().dims;
  y.rank = 3;
  y[0] = x.n();
  y[1] = static_cast<int32_t>(boxes);
  y[2] = row_;
  output().layout = Layout::kPlain;  // the input's layout is for four dimensions
  return Status();
}

Status Yolo::Prepare() {
  if (attributes().nms_threshold < 1.0f)
    return RequestScratch(static_cast<uint64_t>(output().dims[1]) *
                          (sizeof(Box) + sizeof(int32_t)));
  return Status();
}

float Sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

void Yolo::DecodeBox(const float* x, float column, float row, const float* anchor, float* y) const {
  const bool activated = attributes().new_coords;
  const float scale = attributes().scale;
  const float place[2] = {column, row};
  const auto w = static_cast<float>(input(0).w()), h = static_cast<float>(input(0).h());
  const float cells[2] = {w, h};
  for (int i = 0; i < 2; ++i) {
    const float center = activated ? x[i] : Sigmoid(x[i]);
    const float size = x[2 + i];
    y[i] = (place[i] + (center - 0.5f) * scale + 0.5f) / cells[i];
    y[2 + i] = anchor[i] * (activated ? 4.0f * size * size : expf(size));
  }
  y[4] = activated ? x[4] : Sigmoid(x[4]);
}

void Yolo::DecodeScores(const float* x, float* y) const {
  const float objectness = y[4], threshold = attributes().threshold;
  // No score exceeds the objectness, and few boxes hold an object: this saves most of the work.
  const bool hopeless = attributes().scores != YoloScores::kNone && objectness <= threshold;
  float largest = -INFINITY, sum = 0.0f;
  if (attributes().scores == YoloScores::kSoftmax && !hopeless) {
    for (int32_t i = kFirstClass; i < row_; ++i) largest = fmaxf(largest, x[i]);
    for (int32_t i = kFirstClass; i < row_; ++i) sum += expf(x[i] - largest);
  }
  for (int32_t i = kFirstClass; i < row_; ++i) {
    float score = x[i];
    if (hopeless) {
      score = 0.0f;
    } else if (attributes().scores == YoloScores::kSigmoid) {
      score = Sigmoid(score);
    } else if (attributes().scores == YoloScores::kSoftmax) {
      score = expf(score - largest) / sum;
    }
    score *= objectness;
    y[i] = score > threshold ? score : 0.0f;
  }
}

// Non-maximum suppression among `count` boxes of an image: suppressed scores become 0.
void Yolo::Suppress(float* rows, size_t count) const {
  const auto step = static_cast<size_t>(row_);
  Box* const boxes = scratch<Box>();
  auto* const order = reinterpret_cast<int32_t*>(boxes + count);
  for (size_t label = kFirstClass; label < step; ++label) {
    const Ranking ranking = {rows + label, step};
    const size_t candidates = ranking.Above(attributes().threshold, count, order);
    ranking.SelectBest(order, candidates, candidates);
    KeptBoxes kept = {boxes, 0};
    for (size_t i = candidates; i-- > 0;) {
      float* const row = rows + static_cast<size_t>(order[i]) * step;
      const float half_w = row[2] * 0.5f, half_h = row[3] * 0.5f;
      const Box box = {row[0] - half_w, row[1] - half_h, row[0] + half_w, row[1] + half_h};
      if (!kept.Add(box, attributes().nms_threshold)) row[label] = 0.0f;
    }
  }
}

void Yolo::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  const float* const from = x.data<float>();
  float* const to = output().data<float>();
  const auto rows = static_cast<size_t>(output().dims[0]) * static_cast<size_t>(output().dims[1]);
  const auto anchors = static_cast<size_t>(anchors_), width = static_cast<size_t>(x.w());
  const auto height = static_cast<size_t>(x.h()), step = static_cast<size_t>(row_);
  pool.For(rows, kFunctionCost * step, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const size_t pixel = i / anchors;
      DecodeBox(from + i * step, static_cast<float>(pixel % width),
                static_cast<float>(pixel / width % height),
                attributes().anchors.data + i % anchors * 2, to + i * step);
      DecodeScores(from + i * step, to + i * step);
    }
  });
  // A NaN threshold requests no memory in Prepare, and must return here, too.
  if (!(attributes().nms_threshold < 1.0f)) return;
  const size_t boxes = height * width * anchors;
  for (size_t i = 0; i < rows; i += boxes) Suppress(to + i * step, boxes);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Yolo)
