// Measures a piece of work: time, and instructions and other events if the kernel counts them.
#ifndef TRIMTAB_APP_METER_H_
#define TRIMTAB_APP_METER_H_

#include <stdint.h>

#include "runtime/app/counters.h"
#include "runtime/app/json_line.h"

namespace trimtab {

// Phases that a TCG plug-in distinguishes by their markers (runtime/tools/icount_plugin.c).
enum class Phase : int {
  kLoadBegin = 1,
  kLoadEnd = 2,
  kRunBegin = 3,
  kRunEnd = 4,
  kOpBegin = 5,
  kOpEnd = 6,
  kVerifyBegin = 7,
  kVerifyEnd = 8
};

class Meter {
 public:
  Meter(bool markers, const Counters& counters);

  // Marks the phase (by a system call that has no effect and that plug-ins see), then reads clock
  // and counter.
  void Begin(Phase phase, int64_t index);
  void End(Phase phase, int64_t index);

  // Time of the last `Begin`.
  int64_t start_ns() const { return start_ns_; }

  // Adds the measurements between the last `Begin` and `End`.
  void AddTo(JsonLine* line) const;

 private:
  int64_t ReadCounter() const;

  bool markers_;
  const Counters& counters_;
  Counters::Reading start_[Counters::kMaxCounters], end_[Counters::kMaxCounters];
  int counter_;  // perf event; -1: none
  int64_t start_ns_ = 0, start_instructions_ = 0;
  int64_t ns_ = 0;
  int64_t instructions_ = -1;  // in user mode by this thread; -1: not counted
};

int64_t NowNs();

// CPU time of all threads of this process, in nanoseconds.
int64_t CpuNs();

// Memory of this process as reported by Linux; -1: unknown.
struct Resident {
  int64_t peak_bytes;  // VmHWM: peak resident memory, including pages of mapped files
  int64_t file_bytes;  // RssFile: resident pages of mapped files
};
Resident ReadResident();

}  // namespace trimtab

#endif  // TRIMTAB_APP_METER_H_
