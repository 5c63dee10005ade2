#include "bindings/hand_over.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace trimtab {
namespace {

constexpr int kTries = 5, kTrips = 2000;

#if defined(__linux__)
bool RunOn(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<size_t>(core), &cores);
  return pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores) == 0;
}
#else
bool RunOn(int) { return false; }  // no other system lets a thread choose its core
#endif

}  // namespace

double HandOverNs(std::pair<int, int> cores) {
  alignas(128) std::atomic<int> number{0};
  std::atomic<bool> pinned{true};
  double shortest = -1;
  const auto wait_for = [&number](int expected) {
    while (number.load(std::memory_order_acquire) != expected) {
    }
  };
  // In threads of their own, so that the caller's affinity does not change.
  std::thread back([&] {
    if (!RunOn(cores.second)) pinned.store(false);
    for (int i = 1; i <= kTries * kTrips; ++i) {
      wait_for(2 * i - 1);
      number.store(2 * i, std::memory_order_release);
    }
  });
  std::thread forth([&] {
    if (!RunOn(cores.first)) pinned.store(false);
    for (int attempt = 0, i = 1; attempt < kTries; ++attempt) {
      const auto start = std::chrono::steady_clock::now();
      for (const int end = i + kTrips; i < end; ++i) {
        number.store(2 * i - 1, std::memory_order_release);
        wait_for(2 * i);
      }
      const std::chrono::duration<double, std::nano> taken =
          std::chrono::steady_clock::now() - start;
      const double trip = taken.count() / kTrips;
      shortest = attempt == 0 ? trip : std::min(shortest, trip);
    }
  });
  back.join();
  forth.join();
  return pinned.load() ? shortest : -1;
}

}  // namespace trimtab
