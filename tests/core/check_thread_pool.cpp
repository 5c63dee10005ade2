// Checks that every index is computed exactly once, that the caller sees all writes of the threads,
// and that threads wake on idle cores. `./inv sanitize` runs this under ThreadSanitizer.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "runtime/core/thread_pool.h"

namespace {

constexpr size_t kMaxIndices = 1000;
unsigned char done[kMaxIndices];
int failures = 0;

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void CheckLoop(trimtab::ThreadPool* pool, size_t indices, size_t cost) {
  memset(done, 0, sizeof(done));
  const int threads = pool->threads();
  pool->For(indices, cost, [threads](size_t begin, size_t end, int thread) {
    // A wrong thread number would make two threads share a scratch buffer.
    const bool known = thread >= 0 && thread < threads;
    for (size_t i = begin; i < end; ++i)
      done[i] = static_cast<unsigned char>(done[i] + (known ? 1 : 100));
  });
  for (size_t i = 0; i < kMaxIndices; ++i) {
    if (done[i] != (i < indices ? 1 : 0)) {
      printf("threads %d, %zu indices, cost %zu: index %zu done %d times\n", threads, indices, cost,
             i, done[i]);
      ++failures;
      return;
    }
  }
}

// One worker blocks at its first block until the others have done everything else: they must not
// wait for it.
void CheckHeldUpWorker(trimtab::ThreadPool* pool) {
  constexpr size_t kIndices = 1000;
  std::atomic<size_t> finished{0};
  std::atomic<int> held{-1};
  size_t kept = 0;
  pool->For(kIndices, 100000, [&](size_t begin, size_t end, int thread) {
    int nobody = -1;
    if (held.compare_exchange_strong(nobody, thread)) {
      kept = end - begin;
      while (finished.load() < kIndices - kept) sched_yield();
    } else if (held.load() == thread) {
      kept = kIndices;  // the worker went on, although nothing was left
    }
    finished.fetch_add(end - begin);
  });
  const size_t block = kIndices / (8 * static_cast<size_t>(pool->threads())) + 1;
  if (finished.load() == kIndices && kept <= block) return;
  printf("threads %d: a worker that stood still had %zu indices\n", pool->threads(), kept);
  ++failures;
}

// With timing on, a thread that had a share has a span, which lies within the loops.
void CheckSpans(trimtab::ThreadPool* pool, bool are_timed) {
  std::atomic<bool> had[5] = {};
  trimtab::ThreadPool::Span spans[5] = {};
  pool->TimeShares(are_timed ? spans : nullptr);
  const uint64_t start = NowNs();
  for (int loop = 0; loop < 2; ++loop) {
    pool->For(kMaxIndices, 4096, [&](size_t, size_t, int thread) { had[thread].store(true); });
  }
  const uint64_t end = NowNs();
  for (int i = 0; i < pool->threads(); ++i) {
    const trimtab::ThreadPool::Span& span = spans[i];
    const bool within = start <= span[0] && span[0] <= span[1] && span[1] <= end;
    const bool wanted = are_timed && pool->threads() > 1 && had[i].load();
    if (wanted ? within : span[1] == 0) continue;
    printf("threads %d, thread %d: its span is not of the loops\n", pool->threads(), i);
    ++failures;
  }
  pool->TimeShares(nullptr);
}

// A folder with the layout of /sys/devices/system/cpu, with the maximum number of cores, of two
// kinds.
bool MakeUnlikeCores(char* folder) {
  if (mkdtemp(folder) == nullptr) return false;
  for (int i = 0; i < 64; ++i) {
    char path[128];
    snprintf(path, sizeof(path), "%s/cpu%d", folder, i);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/cpu%d/cpu_capacity", folder, i);
    FILE* file = fopen(path, "w");
    if (file == nullptr) return false;
    fputs(i % 2 == 0 ? "1024\n" : "446\n", file);
    fclose(file);
  }
  return true;
}

void RemoveCores(const char* folder) {
  for (int i = 0; i < 64; ++i) {
    char path[128];
    snprintf(path, sizeof(path), "%s/cpu%d/cpu_capacity", folder, i);
    unlink(path);
    snprintf(path, sizeof(path), "%s/cpu%d", folder, i);
    rmdir(path);
  }
  rmdir(folder);
}

void CheckPool(int threads, const char* cores, bool are_alike) {
  const size_t sizes[] = {0, 1, 2, 3, 7, 64, 999, kMaxIndices};
  const size_t costs[] = {100000, 4096, 2000, 128, 0};
  trimtab::ThreadPool pool;
  if (!pool.Start(threads, cores).ok()) {
    printf("cannot start %d threads\n", threads);
    ++failures;
    return;
  }
  // Loops in quick succession: the next one starts while the threads of the previous one still wake
  // up.
  for (int round = 0; round < 50; ++round) {
    for (const size_t size : sizes) {
      for (const size_t cost : costs) CheckLoop(&pool, size, cost);
    }
  }
  CheckSpans(&pool, true);
  CheckSpans(&pool, false);
  // On unlike cores, the other threads may leave the remainder to the blocked one, if it is fast.
  if (threads > 1 && are_alike) CheckHeldUpWorker(&pool);
  pool.Stop();
}

void RunOn(int thread, const cpu_set_t& cores) { sched_setaffinity(thread, sizeof(cores), &cores); }

cpu_set_t Only(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  return cores;
}

struct Busy {
  int core;
  std::atomic<bool> ends;
};

// Occupies a core until told to end.
void* Spin(void* argument) {
  auto* busy = static_cast<Busy*>(argument);
  RunOn(0, Only(busy->core));
  while (!busy->ends.load()) {
  }
  return nullptr;
}

// Runs a loop of two indices, one per thread; returns the core on which the helper ran.
int HelpersCore(trimtab::ThreadPool* pool) {
  std::atomic<int> core{-1};
  pool->For(2, 1000000, [&](size_t, size_t, int thread) {
    if (thread == 1) core.store(sched_getcpu());
    while (core.load() < 0) sched_yield();
  });
  return core.load();
}

// Puts a helper to sleep on the caller's core, several times, and wakes it: it may run on another
// core, which is busy. Returns whether it ran there most times; true if there is no other core.
bool HelpersWakeElsewhere() {
  cpu_set_t all;
  sched_getaffinity(0, sizeof(all), &all);
  int cores[2] = {-1, -1};
  for (int core = 0, count = 0; core < CPU_SETSIZE && count < 2; ++core) {
    if (CPU_ISSET(core, &all)) cores[count++] = core;
  }
  cpu_set_t both = Only(cores[0]);
  if (cores[1] >= 0) CPU_SET(cores[1], &both);
  RunOn(0, both);
  trimtab::ThreadPool pool;
  if (!pool.Start(2, "/nowhere").ok()) {
    printf("cannot start 2 threads\n");
    ++failures;
    return true;
  }
  Busy busy = {cores[1], {false}};
  pthread_t spinning;
  const bool is_busy = cores[1] >= 0 && pthread_create(&spinning, nullptr, &Spin, &busy) == 0;
  std::atomic<int> helper{0};
  constexpr int kRounds = 10;
  int elsewhere = 0;
  for (int round = 0; round < kRounds; ++round) {
    pool.For(2, 1000000, [&](size_t, size_t, int thread) {
      if (thread == 1) helper.store(static_cast<int>(syscall(SYS_gettid)));
      while (helper.load() == 0) sched_yield();
    });
    RunOn(0, Only(cores[0]));
    RunOn(helper.load(), Only(cores[0]));
    usleep(10000);  // it falls asleep there
    RunOn(helper.load(), both);
    elsewhere += HelpersCore(&pool) != cores[0] ? 1 : 0;
    cpu_set_t after;
    sched_getaffinity(helper.load(), sizeof(after), &after);
    if (CPU_EQUAL(&after, &both)) continue;
    printf("a helper that woke up may no longer run where it could\n");
    ++failures;
  }
  busy.ends.store(true);
  if (is_busy) pthread_join(spinning, nullptr);
  RunOn(0, all);
  return cores[1] < 0 || elsewhere > kRounds / 2;
}

// A helper that last ran on the caller's core wakes on another core, even if that one is busy, and
// keeps its set of allowed cores. The system may move helpers back before they start, if other
// processes are busy, too; it does not do so every time.
void CheckWhereHelpersWake() {
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (HelpersWakeElsewhere()) return;
  }
  printf("helpers woke up where the caller ran\n");
  ++failures;
}

}  // namespace

int main() {
  char unlike[] = "/tmp/trimtab-cores-XXXXXX";
  if (!MakeUnlikeCores(unlike)) {
    printf("no place for files\n");
    return 1;
  }
  for (int threads = 1; threads <= 5; ++threads) {
    CheckPool(threads, "/nowhere", true);
    CheckPool(threads, unlike, false);
  }
  RemoveCores(unlike);
  CheckWhereHelpersWake();
  printf("thread pool: %s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
