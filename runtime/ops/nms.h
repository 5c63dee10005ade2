// Non-maximum suppression class by class, as SSD's and Paddle's detectors end with it.
#ifndef TRIMTAB_OPS_NMS_H_
#define TRIMTAB_OPS_NMS_H_

#include "runtime/core/operator.h"
#include "runtime/ops/boxes.h"

namespace trimtab {

// The boxes of all classes of an image that suppression selects, in lists in scratch memory.
class ClassNms {
 public:
  struct Limits {
    float score_threshold, iou_threshold;
    float eta;   // of a threshold above 0.5, by which each selected box multiplies it
    float unit;  // as in KeptBoxes
  };

  // `boxes`: of an image, in each of `classes`; `top_k`: those of a class that are considered, -1:
  // all. `keep_top_k` is checked only: the caller keeps the best of all classes.
  Status Prepare(int64_t boxes, int64_t classes, int64_t background, int64_t top_k,
                 int64_t keep_top_k);
  uint64_t scratch_bytes() const;

  // Begins with an image.
  void Begin(void* scratch);
  // Adds the selected boxes of a class, best first; `box_of(i)` is box `i`, whose score the ranking
  // has.
  template <typename BoxOf>
  void Select(const Ranking& ranking, int32_t label, const Limits& limits, const BoxOf& box_of) {
    const size_t above = ranking.Above(limits.score_threshold, boxes_, order_);
    const size_t considered = above < candidates_ ? above : candidates_;
    ranking.SelectBest(order_, above, considered);
    float threshold = limits.iou_threshold;
    KeptBoxes selected = {selected_, 0, limits.unit};
    for (size_t i = 0; i < considered; ++i) {
      const int32_t box = order_[above - 1 - i];
      if (!selected.Add(box_of(box), threshold)) continue;
      scores[count] = ranking.base[static_cast<size_t>(box) * ranking.step];
      labels[count] = label;
      boxes[count++] = box;
      if (threshold > 0.5f) threshold *= limits.eta;
    }
  }
  // Lists the best `k` selected boxes at the end of `ranked`, the best one last.
  void Rank(size_t k);

  int32_t max_count() const { return max_count_; }

  size_t count = 0;  // selected boxes
  float* scores = nullptr;
  int32_t* labels = nullptr;
  int32_t* boxes = nullptr;
  int32_t* ranked = nullptr;  // positions in these lists

 private:
  size_t boxes_ = 0;
  size_t candidates_ = 0;  // maximum number of boxes of a class that are considered
  int32_t max_count_ = 0;
  Box* selected_ = nullptr;   // [candidates_]: those of a class
  int32_t* order_ = nullptr;  // [boxes_]
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_NMS_H_
