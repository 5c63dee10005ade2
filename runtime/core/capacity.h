// How fast the cores of this machine are, beside each other.
#ifndef TRIMTAB_CORE_CAPACITY_H_
#define TRIMTAB_CORE_CAPACITY_H_

#include <stdint.h>

namespace trimtab {

class Capacities {
 public:
  static constexpr int kMostCores = 64;

  // `folder`: "/sys/devices/system/cpu", or one like it. Linux tells of capacities where cores may
  // differ (Documentation/scheduler/sched-capacity.rst): 1024 is that of the fastest.
  void Read(const char* folder);

  // False where cores are alike, or the system does not say.
  bool differ() const { return differ_; }
  // Of the core that this thread runs on.
  uint32_t OfThisThread() const;

 private:
  bool differ_ = false;
  uint16_t of_[kMostCores] = {};
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_CAPACITY_H_
