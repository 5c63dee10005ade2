// Hardware events of this thread in user mode, if the kernel counts them (perf_event_open(2)).
// Files opened here are closed when the process ends.
#ifndef TRIMTAB_APP_COUNTERS_H_
#define TRIMTAB_APP_COUNTERS_H_

#include <stdint.h>

namespace trimtab {

class Counters {
 public:
  static constexpr int kMaxCounters = 12;

  // A PMU has few counters, so groups of events are multiplexed: of `enabled_ns` an event was
  // counted for `running_ns`. The reader scales the counts.
  using Reading = uint64_t[3];  // count, enabled_ns, running_ns

  // `list`: TYPE:CONFIG in hexadecimal, joined by commas, at most kMaxCounters. False if it is
  // malformed; an event that the kernel rejects is no error: see `has`. Call once.
  bool Open(const char* list);

  int size() const { return size_; }
  bool has(int i) const { return file_[i] >= 0; }
  // Counts since `Open`, for each event; zeros if they cannot be read.
  void Read(Reading* now) const;

 private:
  // Groups are small: a group that needs more counters than are free never runs.
  static constexpr int kGroup = 4;

  void OpenEvent(uint32_t type, uint64_t config);

  int size_ = 0;
  int group_ = kGroup;  // events of the last group
  int leader_ = -1;     // file of its first event
  int file_[kMaxCounters] = {};
  bool leads_[kMaxCounters] = {};
};

}  // namespace trimtab

#endif  // TRIMTAB_APP_COUNTERS_H_
