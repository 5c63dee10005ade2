// Distribution of a loop's indices. Every thread has a share proportional to the speed of its core
// and takes it block by block; then it steals blocks of other shares. Results do not depend on
// which thread computed a block.
//
// A thread's part of a loop's description is on one cache line with its share, so that one line
// moves from the offering thread to each of the others, and back. The blocks taken are counted in
// one word with the number of the loop: a thread that is late for a loop gets no block of it.
#ifndef TRIMTAB_CORE_SHARES_H_
#define TRIMTAB_CORE_SHARES_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>

namespace trimtab {

class Shares {
 public:
  static constexpr int kMaxThreads = 64;
  using Body = void (*)(void* context, size_t begin, size_t end, int thread);

  // A thread's position in the latest loop. `in_time`: it leaves blocks that other threads would
  // finish sooner.
  struct Cursor {
    int thread;
    bool in_time;
    int behind = 0;     // offset of the thread whose share it takes from
    uint32_t loop = 0;  // 0: not known yet
  };

  Shares() {
    for (auto& speed : speed_) speed.store(1024, std::memory_order_relaxed);
  }

  // Speed of the core that a thread runs on, as a capacity (runtime/core/capacity.h); initially
  // 1024.
  void SetSpeed(int thread, uint32_t speed) {
    speed_[thread].store(speed, std::memory_order_relaxed);
  }

  // Offers a loop over [0, n) to the threads, in less than 2^16 blocks, after all blocks of the
  // previous loop are done; returns the number of blocks. Unless `in_time`, thread 0, the caller,
  // already owns its first block.
  size_t Split(size_t n, size_t grain, int threads, bool in_time, Body body = nullptr,
               void* context = nullptr) {
    if (threads_ != threads) threads_ = threads;
    if (++loop_ == 0) ++loop_;
    // A thread that is late for the previous loop may set its speed now: each is read once.
    uint32_t fixed[kMaxThreads];
    uint64_t speeds = 0;
    for (int i = 0; i < threads; ++i) {
      fixed[i] = speed_[i].load(std::memory_order_relaxed);
      speeds += fixed[i];
    }
    size_t last = n, all = 0;
    for (int i = threads; i-- > 0;) {  // the caller's last, because it needs its line at once
      Share& share = share_[i];
      share.last = last;
      speeds -= fixed[i];
      last = static_cast<size_t>(last * speeds / (speeds + fixed[i]));
      share.first = last;
      share.grain = grain;
      share.body = body;
      share.context = context;
      const size_t blocks = (share.last - last + grain - 1) / grain;
      all += blocks;
      has_first_ = i == 0 && !in_time && blocks > 0;
      share.word.store(uint64_t{loop_} << 32 | (has_first_ ? kTakenBlock : 0) | blocks,
                       std::memory_order_release);
    }
    return all;
  }

  // Number of the loop that was offered to the thread last; never 0.
  uint32_t Offered(int thread) const {
    return static_cast<uint32_t>(share_[thread].word.load(std::memory_order_acquire) >> 32);
  }

  // Takes the thread's next block; false if none is left for it.
  bool Take(Cursor* at, size_t* begin, size_t* end) {
    const Share* from = &share_[0];
    size_t index = 0;
    if (at->thread == 0 && has_first_) {
      has_first_ = false;
    } else if (!Claim(at, &from, &index)) {
      return false;
    }
    *begin = from->first + index * from->grain;
    *end = from->last - *begin < from->grain ? from->last : *begin + from->grain;
    return true;
  }

  // Runs a block that the thread has taken.
  void Do(int thread, size_t begin, size_t end) const {
    share_[thread].body(share_[thread].context, begin, end, thread);
  }
  // Marks the block as done.
  void Finish(int thread) {
    std::atomic<uint32_t>& done = share_[thread].done;
    done.store(done.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // Number of blocks that a thread has done in all loops, modulo 2^32.
  uint32_t Done(int thread) const { return share_[thread].done.load(std::memory_order_acquire); }

 private:
  // The non-atomic members are written by the offering thread before `word`, and read by threads
  // that have taken a block, without which the loop does not end.
  struct alignas(64) Share {
    std::atomic<uint64_t> word{0};  // loop, next block, blocks: 32, 16 and 16 bits
    size_t first = 0, last = 0, grain = 1;
    Body body = nullptr;
    void* context = nullptr;
    std::atomic<uint32_t> done{0};
  };
  static constexpr uint64_t kTakenBlock = 1 << 16;  // one more block taken

  static uint16_t Next(uint64_t word) { return static_cast<uint16_t>(word >> 16); }
  static uint16_t Blocks(uint64_t word) { return static_cast<uint16_t>(word); }

  // Takes a block of the thread's own share or of another's.
  bool Claim(Cursor* at, const Share** share, size_t* index) {
    if (at->loop == 0) at->loop = Offered(at->thread);
    for (; at->behind < threads_; ++at->behind) {
      Share& from = share_[(at->thread + at->behind) % threads_];
      uint64_t word = from.word.load(std::memory_order_acquire);
      while (static_cast<uint32_t>(word >> 32) == at->loop && Next(word) < Blocks(word)) {
        if (at->in_time && !IsInTime(at->thread)) return false;
        *share = &from;
        *index = Next(word);
        if (from.word.compare_exchange_weak(word, word + kTakenBlock, std::memory_order_acq_rel,
                                            std::memory_order_acquire))
          return true;
      }
    }
    return false;
  }

  uint64_t speed(int thread) const { return speed_[thread].load(std::memory_order_relaxed); }

  // True if the thread would finish a block before the other threads finish everything that is
  // left. Always true for the fastest threads, so that the loop makes progress.
  bool IsInTime(int thread) const {
    const uint64_t own = speed(thread);
    uint64_t left = static_cast<uint64_t>(threads_ - 1), others = 0, fastest = 0;
    for (int i = 0; i < threads_; ++i) {
      const uint64_t word = share_[i].word.load(std::memory_order_relaxed);
      left += static_cast<uint64_t>(Blocks(word) - Next(word));
      if (i != thread) others += speed(i);
      if (speed(i) > fastest) fastest = speed(i);
    }
    return own == fastest || left * own >= others;
  }

  Share share_[kMaxThreads];
  // Used by the offering thread only.
  uint32_t loop_ = 0;
  bool has_first_ = false;

  int threads_ = 1;
  std::atomic<uint32_t> speed_[kMaxThreads];
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_SHARES_H_
