#include "runtime/ops/nms.h"

namespace trimtab {

Status ClassNms::Prepare(int64_t boxes, int64_t classes, int64_t background, int64_t top_k,
                         int64_t keep_top_k) {
  TRIMTAB_CHECK(background >= -1 && background <= INT16_MAX, "background is out of range",
                background);
  TRIMTAB_CHECK(keep_top_k == -1 || (keep_top_k >= 1 && keep_top_k <= INT32_MAX),
                "keep_top_k is out of range", keep_top_k);
  TRIMTAB_CHECK(top_k == -1 || top_k >= 1, "nms_top_k is out of range", top_k);
  const int64_t candidates = top_k > 0 && top_k < boxes ? top_k : boxes;
  const int64_t labels = classes - (background >= 0 && background < classes ? 1 : 0);
  TRIMTAB_CHECK(candidates * labels >= 1 && candidates * labels <= kMaxElements,
                "illegal number of candidates", candidates * labels);
  boxes_ = static_cast<size_t>(boxes);
  candidates_ = static_cast<size_t>(candidates);
  max_count_ = static_cast<int32_t>(candidates * labels);
  return Status();
}

uint64_t ClassNms::scratch_bytes() const {
  return uint64_t{candidates_} * sizeof(Box) +
         (uint64_t{boxes_} + 4 * static_cast<uint64_t>(max_count_)) * sizeof(int32_t);
}

void ClassNms::Begin(void* scratch) {
  const auto max_count = static_cast<size_t>(max_count_);
  selected_ = static_cast<Box*>(scratch);
  scores = reinterpret_cast<float*>(selected_ + candidates_);
  labels = reinterpret_cast<int32_t*>(scores + max_count);
  boxes = labels + max_count;
  ranked = boxes + max_count;
  order_ = ranked + max_count;
  count = 0;
}

void ClassNms::Rank(size_t k) {
  for (size_t i = 0; i < count; ++i) ranked[i] = static_cast<int32_t>(i);
  Ranking{scores, 1}.SelectBest(ranked, count, k);
}

}  // namespace trimtab
