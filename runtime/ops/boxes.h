// Boxes of detectors: overlap, and ranking by score.
#ifndef TRIMTAB_OPS_BOXES_H_
#define TRIMTAB_OPS_BOXES_H_

#include <stddef.h>
#include <stdint.h>

namespace trimtab {

struct Box {
  float xmin, ymin, xmax, ymax;
};

// Boxes that are kept, as they overlap with no better one by more than a threshold (intersection
// over union).
struct KeptBoxes {
  Box* boxes;
  size_t count;
  float unit = 0.0f;  // added to sizes: 1 when the corners are pixels inside of the box

  // Adds the box if it may stay.
  bool Add(const Box& box, float threshold);
};

// Scores by which items are ordered: that of item i is base[i * step].
struct Ranking {
  const float* base;
  size_t step;

  // Items with a score above the threshold, into `items`; returns their number.
  size_t Above(float threshold, size_t count, int32_t* items) const;
  // Moves the best `k` of `n` items to the end, the best of all last; of equals, the first is
  // better.
  void SelectBest(int32_t* items, size_t n, size_t k) const;

 private:
  bool Better(int32_t a, int32_t b) const;
  void SiftDown(int32_t* heap, size_t n, size_t i) const;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_BOXES_H_
