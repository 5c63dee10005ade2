#include <math.h>

#include "generated/plugin_attributes.h"
#include "runtime/core/operator.h"
#include "runtime/ops/boxes.h"

namespace trimtab {
namespace {

class Proposal final : public OperatorOf<ProposalAttributes> {
 public:
  void Run(ThreadPool&) override {
    const auto cells = static_cast<size_t>(input(0).dims.Count(2, 4));
    const size_t count = cells * anchors_;
    Box* boxes = scratch<Box>();
    Box* kept_boxes = boxes + count;
    auto* scores = reinterpret_cast<float*>(kept_boxes + attributes().keep);
    auto* order = reinterpret_cast<int32_t*>(scores + count);
    const size_t found = Move(boxes, scores, order);

    const Ranking ranking = {scores, 1};
    const auto most = static_cast<size_t>(attributes().candidates);
    const size_t looked_at = found < most ? found : most;
    ranking.SelectBest(order, found, looked_at);
    KeptBoxes kept = {kept_boxes, 0, 1.0f};
    const auto rows = static_cast<size_t>(attributes().keep);
    for (size_t i = 0; i < looked_at && kept.count < rows; ++i) {
      kept.Add(boxes[order[found - 1 - i]], attributes().threshold);
    }
    float* y = result<float>();
    for (size_t i = 0; i < rows; ++i, y += 5) {
      const Box box = i < kept.count ? kept.boxes[i] : Box{0.0f, 0.0f, 0.0f, 0.0f};
      y[0] = 0.0f;
      y[1] = box.xmin;
      y[2] = box.ymin;
      y[3] = box.xmax;
      y[4] = box.ymax;
    }
  }

 protected:
  Status InferShape() override {
    const Dims &scores = input(0).dims, &deltas = input(1).dims, &anchors = input(3).dims;
    TRIMTAB_CHECK(anchors.rank == 2 && anchors[0] >= 1 && anchors[1] == 4,
                  "anchors must be [a, 4] (rank)", anchors.rank);
    TRIMTAB_CHECK(scores.rank == 4 && scores[0] == 1 && scores[1] == 2 * int64_t{anchors[0]},
                  "scores must be [1, 2 * a, h, w] (rank, a)", scores.rank, anchors[0]);
    TRIMTAB_CHECK(deltas.rank == 4 && deltas[0] == 1 && deltas[1] == 4 * int64_t{anchors[0]} &&
                      deltas[2] == scores[2] && deltas[3] == scores[3],
                  "deltas must be [1, 4 * a, h, w] (rank, a)", deltas.rank, anchors[0]);
    TRIMTAB_CHECK(input(2).dims.Count() == 3, "image must be [1, 3] (elements)",
                  input(2).dims.Count());
    anchors_ = static_cast<size_t>(anchors[0]);
    Dims& y = output().dims;
    y.rank = 2;
    y[0] = static_cast<int32_t>(attributes().keep);
    y[1] = 5;
    return Status();
  }

  Status Prepare() override {
    const auto count = static_cast<uint64_t>(input(0).dims.Count(2, 4)) * anchors_;
    return RequestScratch((count + static_cast<uint64_t>(attributes().keep)) * sizeof(Box) +
                          count * (sizeof(float) + sizeof(int32_t)));
  }

 private:
  // Computes all regions and scores in the order row, column, anchor, and the indices of those
  // that are large enough. Returns their number.
  size_t Move(Box* boxes, float* scores, int32_t* order) const {
    const Dims& dims = input(0).dims;
    const auto cells = static_cast<size_t>(dims.Count(2, 4));
    const float* const image = data<float>(2);
    const float least = attributes().least * image[2];
    size_t found = 0;
    for (size_t cell = 0; cell < cells; ++cell) {
      const auto x = static_cast<float>(static_cast<int64_t>(cell) % dims[3] * attributes().stride);
      const auto y = static_cast<float>(static_cast<int64_t>(cell) / dims[3] * attributes().stride);
      for (size_t a = 0; a < anchors_; ++a) {
        const size_t i = cell * anchors_ + a;
        boxes[i] =
            Moved(data<float>(3) + 4 * a, x, y, data<float>(1) + 4 * a * cells + cell, cells);
        boxes[i].xmin = Clamped(boxes[i].xmin, image[1]);
        boxes[i].ymin = Clamped(boxes[i].ymin, image[0]);
        boxes[i].xmax = Clamped(boxes[i].xmax, image[1]);
        boxes[i].ymax = Clamped(boxes[i].ymax, image[0]);
        scores[i] = data<float>(0)[(anchors_ + a) * cells + cell];
        if (boxes[i].xmax - boxes[i].xmin + 1.0f >= least &&
            boxes[i].ymax - boxes[i].ymin + 1.0f >= least) {
          order[found++] = static_cast<int32_t>(i);
        }
      }
    }
    return found;
  }

  static Box Moved(const float* anchor, float x, float y, const float* delta, size_t step) {
    const float w = anchor[2] - anchor[0] + 1.0f, h = anchor[3] - anchor[1] + 1.0f;
    const float cx = anchor[0] + x + 0.5f * w + delta[0] * w;
    const float cy = anchor[1] + y + 0.5f * h + delta[step] * h;
    const float half_w = 0.5f * w * expf(delta[2 * step]);
    const float half_h = 0.5f * h * expf(delta[3 * step]);
    return {cx - half_w, cy - half_h, cx + half_w, cy + half_h};
  }

  static float Clamped(float value, float size) { return fmaxf(fminf(value, size - 1.0f), 0.0f); }

  size_t anchors_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Proposal)
