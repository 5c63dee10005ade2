// Simulates a loop on cores of different speeds with a virtual clock: an idle thread takes the next
// block, and a block's time is inverse to its core's speed. So the end of a loop is known exactly
// and is compared with the ideal of infinitely divisible work.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "runtime/core/capacity.h"
#include "runtime/core/shares.h"

namespace {

using trimtab::Capacities;
using trimtab::Shares;

constexpr size_t kMaxIndices = 4096;
int failures = 0;

void Expect(bool holds, const char* what) {
  if (holds) return;
  printf("FAILED: %s\n", what);
  ++failures;
}

struct Played {
  double end;                        // end of the last block
  size_t done[Shares::kMaxThreads];  // number of indices by thread
  bool once;                         // every index was computed exactly once
};

// `speeds`: indices per unit of time. `told`: speeds that the shares are given.
Played Play(const uint32_t* speeds, const uint32_t* told, int threads, size_t n, size_t grain,
            bool in_time) {
  static Shares shares;
  for (int i = 0; i < Shares::kMaxThreads; ++i) shares.SetSpeed(i, 1024);
  for (int i = 0; i < threads; ++i) shares.SetSpeed(i, told[i]);
  shares.Split(n, grain, threads, in_time);
  static unsigned char seen[kMaxIndices];
  memset(seen, 0, sizeof(seen));
  Played played = {0, {}, true};
  double free_at[Shares::kMaxThreads] = {};
  Shares::Cursor at[Shares::kMaxThreads];
  bool is_in[Shares::kMaxThreads];
  for (int i = 0; i < threads; ++i) {
    at[i] = {i, in_time};
    is_in[i] = true;
  }
  for (;;) {
    int next = -1;
    for (int i = 0; i < threads; ++i) {
      if (is_in[i] && (next < 0 || free_at[i] < free_at[next])) next = i;
    }
    if (next < 0) break;
    size_t begin, end;
    if (!shares.Take(&at[next], &begin, &end)) {
      is_in[next] = false;
      continue;
    }
    for (size_t i = begin; i < end; ++i) played.once &= seen[i]++ == 0;
    played.done[next] += end - begin;
    free_at[next] += static_cast<double>(end - begin) / speeds[next];
    if (free_at[next] > played.end) played.end = free_at[next];
  }
  for (size_t i = 0; i < n; ++i) played.once &= seen[i] == 1;
  return played;
}

double Ideal(const uint32_t* speeds, int threads, size_t n) {
  double sum = 0;
  for (int i = 0; i < threads; ++i) sum += speeds[i];
  return static_cast<double>(n) / sum;
}

// Blocks are indivisible, so a loop ends later than the ideal: by at most a block on the fastest
// core and one on the average core.
void CheckEnds(const uint32_t* speeds, int threads, const char* what) {
  uint32_t fastest = 0, sum = 0;
  for (int i = 0; i < threads; ++i) {
    fastest = speeds[i] > fastest ? speeds[i] : fastest;
    sum += speeds[i];
  }
  const size_t sizes[] = {1, 2, 5, 8, 16, 17, 33, 100, 1000, kMaxIndices};
  const size_t grains[] = {1, 2, 7, 32};
  for (const size_t n : sizes) {
    for (const size_t grain : grains) {
      const Played played = Play(speeds, speeds, threads, n, grain, true);
      const double block = static_cast<double>(grain);
      const double late = played.end - Ideal(speeds, threads, n);
      if (played.once && late <= block / fastest + block * threads / sum + 1e-9) continue;
      printf("FAILED: %s: %zu indices in blocks of %zu: %g late, %s\n", what, n, grain, late,
             played.once ? "each once" : "not each once");
      ++failures;
    }
  }
}

void CheckUnlikeCores() {
  const uint32_t rk3399[] = {1024, 1024, 485, 485, 485, 485};
  CheckEnds(rk3399, 6, "two big cores and four little ones");
  CheckEnds(rk3399 + 1, 2, "a big core and a little one");
  const uint32_t three[] = {279, 1024, 279, 905, 279, 279, 905, 905};
  CheckEnds(three, 8, "three kinds of cores, the caller on a little one");
  const uint32_t alike[] = {485, 485, 485};
  CheckEnds(alike, 3, "little cores alone");
  uint32_t seed = 1;
  for (int round = 0; round < 200; ++round) {
    uint32_t speeds[8];
    for (uint32_t& speed : speeds) {
      seed = seed * 1664525u + 1013904223u;
      speed = 64 + (seed >> 8) % 961;
    }
    CheckEnds(speeds, 8, "cores of any speed");
  }
}

// Four blocks per thread, as in a GEMM: a little core that takes one of the last blocks keeps seven
// other cores waiting.
void CheckLastBlocks() {
  const uint32_t speeds[] = {1024, 1024, 1024, 1024, 446, 446, 446, 446};
  const uint32_t unknown[] = {1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024};
  const double ideal = Ideal(speeds, 8, 32);
  Expect(Play(speeds, speeds, 8, 32, 1, true).end < 1.09 * ideal,
         "slow cores leave the last blocks to fast ones");
  Expect(Play(speeds, unknown, 8, 32, 1, false).end > 1.23 * ideal,
         "where nobody knows of speeds, all wait for one of them");
}

// A core that is slower than its given speed, because it is hot or busy, delays its present block
// only.
void CheckHeldUpWorker() {
  const uint32_t speeds[] = {1024, 1024, 1, 1024}, told[] = {1024, 1024, 1024, 1024};
  const Played played = Play(speeds, told, 4, 1000, 10, false);
  Expect(played.once && played.done[2] == 10, "a worker that is held up does one block");
  Expect(played.done[0] + played.done[1] + played.done[3] == 990, "the others do the rest");
}

void CheckEvenShares() {
  const uint32_t speeds[] = {1024, 1024, 1024};
  static Shares shares;
  for (int i = 0; i < 3; ++i) shares.SetSpeed(i, speeds[i]);
  shares.Split(100, 50, 3, false);
  const size_t ends[] = {33, 66, 100};
  for (int i = 0; i < 3; ++i) {
    Shares::Cursor at = {i, false};
    size_t begin, end;
    Expect(shares.Take(&at, &begin, &end) && begin == (i == 0 ? 0 : ends[i - 1]) && end == ends[i],
           "equal cores have equal shares");
  }
}

// A folder with the layout of /sys/devices/system/cpu.
struct System {
  char folder[64] = "/tmp/trimtab-cores-XXXXXX";

  System() { Expect(mkdtemp(folder) != nullptr, "there is a place for files"); }
  ~System() {
    for (int i = 0; i < Capacities::kMaxCores; ++i) {
      char path[128];
      snprintf(path, sizeof(path), "%s/cpu%d/cpu_capacity", folder, i);
      unlink(path);
      snprintf(path, sizeof(path), "%s/cpu%d", folder, i);
      rmdir(path);
    }
    Expect(rmdir(folder) == 0, "and it is given back");
  }
  void Core(int number, const char* capacity) const {
    char path[128];
    snprintf(path, sizeof(path), "%s/cpu%d", folder, number);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/cpu%d/cpu_capacity", folder, number);
    FILE* file = fopen(path, "w");
    Expect(file != nullptr && fputs(capacity, file) >= 0 && fclose(file) == 0, "it takes files");
  }
};

bool Differ(const System& system) {
  Capacities capacities;
  capacities.Read(system.folder);
  return capacities.differ();
}

void CheckCapacities() {
  const System silent, alike, unlike, offline, damaged;
  Expect(!Differ(silent), "cores of which nothing is told are alike");
  for (int i = 0; i < 3; ++i) alike.Core(i, "1024\n");
  Expect(!Differ(alike), "cores of one capacity are alike");
  for (int i = 0; i < 64; ++i) unlike.Core(i, "446\n");
  Expect(!Differ(unlike), "little ones, too");
  unlike.Core(63, "1024\n");
  Expect(Differ(unlike), "one that is not makes the difference");
  offline.Core(0, "485\n");
  offline.Core(5, "1024\n");
  Expect(Differ(offline), "a core that is not there hides none behind it");
  damaged.Core(0, "1024\n");
  damaged.Core(1, "99999999");
  damaged.Core(2, "-3\n");
  Expect(!Differ(damaged), "what is no capacity says nothing");

  Capacities capacities;
  capacities.Read(unlike.folder);
  const uint32_t own = capacities.OfThisThread();
  Expect(own == 446 || own == 1024, "a thread knows the capacity of its core");
  Capacities none;
  none.Read(silent.folder);
  Expect(none.OfThisThread() == 1024, "and that of a core that nobody tells of is the usual one");
}

// A helper that is late for a loop sets its speed while the next loop is split: every index is in
// one block all the same.
void CheckSpeedsThatChange() {
  struct Late {
    Shares shares;
    std::atomic<bool> stop{false};
  };
  static Late late;
  pthread_t helper;
  const auto change = [](void* argument) -> void* {
    auto* const self = static_cast<Late*>(argument);
    for (uint32_t i = 0; !self->stop.load(std::memory_order_relaxed); ++i)
      self->shares.SetSpeed(1, i % 2 == 0 ? 1024 : 64);
    return nullptr;
  };
  if (pthread_create(&helper, nullptr, change, &late) != 0) return Expect(false, "a thread starts");
  bool complete = true;
  for (int loop = 0; loop < 20000; ++loop) {
    constexpr size_t kIndices = 1000;
    late.shares.Split(kIndices, 10, 2, false);
    size_t indices = 0;
    for (int thread = 0; thread < 2; ++thread) {
      Shares::Cursor at = {thread, false};
      for (size_t begin, end; late.shares.Take(&at, &begin, &end);)
        indices += begin < end && end <= kIndices ? end - begin : kIndices;
    }
    complete = complete && indices == kIndices;
  }
  late.stop.store(true);
  pthread_join(helper, nullptr);
  Expect(complete, "a loop has all indices while speeds change");
}

}  // namespace

int main() {
  CheckUnlikeCores();
  CheckLastBlocks();
  CheckHeldUpWorker();
  CheckEvenShares();
  CheckCapacities();
  CheckSpeedsThatChange();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
