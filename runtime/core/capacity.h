// Relative speed of this machine's cores.
#ifndef TRIMTAB_CORE_CAPACITY_H_
#define TRIMTAB_CORE_CAPACITY_H_

#include <stdint.h>

namespace trimtab {

class Capacities {
 public:
  static constexpr int kMaxCores = 64;

  // `folder`: /sys/devices/system/cpu, or a folder with the same layout. Linux reports capacities
  // on machines whose cores may differ (Documentation/scheduler/sched-capacity.rst); the fastest
  // core has 1024.
  void Read(const char* folder);

  // False where all cores are alike or the system reports no capacities.
  bool differ() const { return differ_; }
  // Capacity of the core that this thread runs on.
  uint32_t OfThisThread() const;

 private:
  bool differ_ = false;
  uint16_t of_[kMaxCores] = {};
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_CAPACITY_H_
