// Bounding boxes of detectors: overlap, and ranking by score.
#ifndef TRIMTAB_OPS_BOXES_H_
#define TRIMTAB_OPS_BOXES_H_

#include <stddef.h>
#include <stdint.h>

namespace trimtab {

struct Box {
  float xmin, ymin, xmax, ymax;
};

// Intersection over union; `unit` as in KeptBoxes.
float Overlap(const Box& a, const Box& b, float unit = 0.0f);

// Boxes selected by non-maximum suppression: each overlaps every better box by at most a threshold
// (intersection over union).
struct KeptBoxes {
  Box* boxes;
  size_t count;
  float unit = 0.0f;  // added to widths and heights: 1 if the corners are pixels inside of the box

  // Adds the box unless a selected box suppresses it.
  bool Add(const Box& box, float threshold);
};

// Orders items by score: that of item i is base[i * step].
struct Ranking {
  const float* base;
  size_t step;

  // Writes the items with a score above the threshold to `items`; returns their number.
  size_t Above(float threshold, size_t count, int32_t* items) const;
  // Moves the best `k` of `n` items to the end, the best one last; of equal items the first is
  // better.
  void SelectBest(int32_t* items, size_t n, size_t k) const;
  // Orders the items so that TakeBest can take one after the other.
  void MakeHeap(int32_t* items, size_t n) const;
  // Moves the best of `n` items to the end, and returns it.
  int32_t TakeBest(int32_t* items, size_t n) const;

 private:
  bool Better(int32_t a, int32_t b) const;
  void SiftDown(int32_t* heap, size_t n, size_t i) const;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_BOXES_H_
