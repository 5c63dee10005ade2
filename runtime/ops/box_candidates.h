// The best candidates for boxes, in a heap whose top is the worst of them.
#ifndef TRIMTAB_OPS_BOX_CANDIDATES_H_
#define TRIMTAB_OPS_BOX_CANDIDATES_H_

#include <stddef.h>
#include <stdint.h>

namespace trimtab {

struct Candidate {
  float score;
  int32_t index;  // by level, location, anchor
  int32_t label;
};

inline bool Better(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.index < b.index || (a.index == b.index && a.label < b.label);
}

// Moves `item` down from the top of a heap of `n` items whose top is the worst.
inline void SiftDown(Candidate* heap, size_t n, const Candidate& item) {
  size_t hole = 0;
  for (size_t child = 1; child < n; child = 2 * hole + 1) {
    if (child + 1 < n && Better(heap[child], heap[child + 1])) ++child;
    if (!Better(item, heap[child])) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = item;
}

// Adds a candidate to the heap of the `limit` best ones; returns their new number.
inline size_t Offer(const Candidate& candidate, Candidate* heap, size_t count, size_t limit) {
  if (count < limit) {
    size_t hole = count;
    for (; hole > 0 && Better(heap[(hole - 1) / 2], candidate); hole = (hole - 1) / 2)
      heap[hole] = heap[(hole - 1) / 2];
    heap[hole] = candidate;
    return count + 1;
  }
  if (Better(candidate, heap[0])) SiftDown(heap, count, candidate);
  return count;
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_BOX_CANDIDATES_H_
