#include "runtime/ops/boxes.h"

#include <math.h>

namespace trimtab {
namespace {

float Area(const Box& b, float unit) { return (b.xmax - b.xmin + unit) * (b.ymax - b.ymin + unit); }

}  // namespace

float Overlap(const Box& a, const Box& b, float unit) {
  // Most pairs are apart, on any side: without branches, which nothing could predict.
  const auto apart = static_cast<int>(a.xmax < b.xmin) | static_cast<int>(b.xmax < a.xmin) |
                     static_cast<int>(a.ymax < b.ymin) | static_cast<int>(b.ymax < a.ymin);
  if (apart != 0) return 0.0f;
  const float w = fminf(a.xmax, b.xmax) - fmaxf(a.xmin, b.xmin);
  const float h = fminf(a.ymax, b.ymax) - fmaxf(a.ymin, b.ymin);
  if (!(w >= 0.0f && h >= 0.0f)) return 0.0f;
  const float common = (w + unit) * (h + unit);
  return common > 0.0f ? common / (Area(a, unit) + Area(b, unit) - common) : 0.0f;
}

bool KeptBoxes::Add(const Box& box, float threshold) {
  for (size_t i = 0; i < count; ++i) {
    if (!(Overlap(box, boxes[i], unit) <= threshold)) return false;
  }
  boxes[count++] = box;
  return true;
}

size_t Ranking::Above(float threshold, size_t count, int32_t* items) const {
  size_t count_above = 0;
  for (size_t i = 0; i < count; ++i) {
    items[count_above] = static_cast<int32_t>(i);
    count_above += base[i * step] > threshold ? 1 : 0;
  }
  return count_above;
}

bool Ranking::Better(int32_t a, int32_t b) const {
  const float x = base[static_cast<size_t>(a) * step], y = base[static_cast<size_t>(b) * step];
  return x > y || (x == y && a < b);
}

// Restores the heap, with the best item on top, after its element `i` has become worse.
void Ranking::SiftDown(int32_t* heap, size_t n, size_t i) const {
  const int32_t item = heap[i];
  for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
    if (child + 1 < n && Better(heap[child + 1], heap[child])) ++child;
    if (!Better(heap[child], item)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = item;
}

void Ranking::MakeHeap(int32_t* items, size_t n) const {
  for (size_t i = n / 2; i-- > 0;) SiftDown(items, n, i);
}

int32_t Ranking::TakeBest(int32_t* items, size_t n) const {
  const int32_t best = items[0];
  items[0] = items[n - 1];
  SiftDown(items, n - 1, 0);
  items[n - 1] = best;
  return best;
}

void Ranking::SelectBest(int32_t* items, size_t n, size_t k) const {
  MakeHeap(items, n);
  for (; k > 0; --k) TakeBest(items, n--);
}

}  // namespace trimtab
