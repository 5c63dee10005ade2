// Iterates over row-major operands that are broadcast to one shape, in runs of elements.
#ifndef TRIMTAB_OPS_BROADCAST_H_
#define TRIMTAB_OPS_BROADCAST_H_

#include "runtime/core/parallel.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"

namespace trimtab {

// Adjacent elements of the result. Operand i has its first element at `offsets[i]`.
struct BroadcastRun {
  size_t begin, count;
  size_t offsets[3];
};

class Broadcast {
 public:
  static constexpr int kMaxOperands = 3;

  // Sets `y` to the shape that all operands broadcast to.
  Status SetUp(const Tensor* const* operands, int count, Dims* y);

  // Calls run(const BroadcastRun&) for runs that cover the result; `cost` is that of an element.
  template <typename Run>
  void For(ThreadPool& pool, size_t cost, const Run& run) const {
    pool.For(Count(), cost, [&](size_t begin, size_t end, int) {
      while (begin < end) {
        const BroadcastRun next = RunAt(begin, end);
        run(next);
        begin += next.count;
      }
    });
  }
  // Distance of neighboring elements of operand `i` in a run: 1, or 0 if it repeats one.
  size_t Step(int i) const { return strides_[i][0]; }

 private:
  size_t Count() const;
  // The longest run from element `begin` on, at most to `end`.
  BroadcastRun RunAt(size_t begin, size_t end) const;

  // The innermost axis first; neighboring axes are merged where all operands allow it.
  int rank_ = 1;
  size_t extents_[Dims::kMaxRank];
  size_t strides_[kMaxOperands][Dims::kMaxRank] = {};
};

constexpr size_t kBroadcastChunk = 64;

// An operand of a run in chunks of kBroadcastChunk elements, so that one loop that every compiler
// vectorizes serves repeated elements, too.
template <typename T>
class BroadcastChunks {
 public:
  // `count`: of elements of the run.
  BroadcastChunks(const Tensor& operand, size_t offset, size_t step, size_t count)
      : next_(static_cast<const T*>(operand.raw) + offset), advance_(step * kBroadcastChunk) {
    if (step != 0) return;
    for (size_t i = 0; i < Min(count, kBroadcastChunk); ++i) copies_[i] = *next_;
    next_ = copies_;
  }
  BroadcastChunks(const BroadcastChunks&) = delete;
  BroadcastChunks& operator=(const BroadcastChunks&) = delete;

  const T* Next() {
    const T* const chunk = next_;
    next_ += advance_;
    return chunk;
  }

 private:
  const T* next_;
  size_t advance_;
  T copies_[kBroadcastChunk];
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_BROADCAST_H_
