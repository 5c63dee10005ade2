// Who does which indices of a loop. Every thread has a share, as large as its core is fast, which it
// takes block by block; then it takes blocks of the others' shares. A result does not depend on who
// did what.
#ifndef TRIMTAB_CORE_SHARES_H_
#define TRIMTAB_CORE_SHARES_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>

namespace trimtab {

class Shares {
 public:
  static constexpr int kMost = 64;

  // Where a thread stands in a loop. `in_time`: it leaves what others would finish sooner than it.
  struct Cursor {
    int thread;
    bool in_time;
    int behind = 0;  // whose share it takes from: that of the thread so many behind it
  };

  // The speed of the core that a thread runs on, to others as capacities are
  // (runtime/core/capacity.h); 1024 as long as nobody says so.
  void SetSpeed(int thread, uint32_t speed) {
    share_[thread].speed.store(speed, std::memory_order_relaxed);
  }

  // Shares [0, n) among threads; only while no thread takes any.
  void Split(size_t n, size_t grain, int threads) {
    threads_ = threads;
    grain_ = grain;
    uint64_t speeds = 0;
    for (int i = 0; i < threads; ++i) speeds += speed(i);
    size_t end = 0;
    for (int i = 0; i < threads; ++i) {
      share_[i].next.store(end, std::memory_order_relaxed);
      end += static_cast<size_t>((n - end) * speed(i) / speeds);
      share_[i].end = end;
      speeds -= speed(i);
    }
  }

  // The next block that the thread is to do; false when there is none for it.
  bool Take(Cursor* at, size_t* begin, size_t* end) {
    for (; at->behind < threads_; ++at->behind) {
      if (at->in_time && !IsInTime(at->thread)) return false;
      Share& from = share_[(at->thread + at->behind) % threads_];
      *begin = from.next.fetch_add(grain_, std::memory_order_relaxed);
      if (*begin >= from.end) continue;
      *end = *begin + grain_ < from.end ? *begin + grain_ : from.end;
      return true;
    }
    return false;
  }

 private:
  // On a cache line of its own: the indices that the thread begins with, and those not taken yet.
  struct alignas(64) Share {
    std::atomic<size_t> next{0};
    size_t end = 0;
    std::atomic<uint32_t> speed{1024};
  };

  uint64_t speed(int thread) const { return share_[thread].speed.load(std::memory_order_relaxed); }

  // Whether the thread would be done with a block before the others are with all that is left, and
  // with the block that each of them has. The fastest ones always go on, or nobody would.
  bool IsInTime(int thread) const {
    const uint64_t own = speed(thread);
    uint64_t left = static_cast<size_t>(threads_ - 1) * grain_, others = 0, fastest = 0;
    for (int i = 0; i < threads_; ++i) {
      const size_t next = share_[i].next.load(std::memory_order_relaxed);
      if (next < share_[i].end) left += share_[i].end - next;
      if (i != thread) others += speed(i);
      if (speed(i) > fastest) fastest = speed(i);
    }
    return own == fastest || left * own >= grain_ * others;
  }

  int threads_ = 1;
  size_t grain_ = 1;
  Share share_[kMost];
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_SHARES_H_
