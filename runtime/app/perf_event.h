// perf_event_open(2), for which C libraries have no wrapper.
#ifndef TRIMTAB_APP_PERF_EVENT_H_
#define TRIMTAB_APP_PERF_EVENT_H_

#include <stdint.h>

namespace trimtab {

// Constants of <linux/perf_event.h>, which only Linux has: the event "instructions", and a group
// that is read with the times that it was enabled and running.
constexpr uint32_t kHardware = 0;
constexpr uint64_t kInstructions = 1, kGroupWithTimes = 1 | 2 | 8;

// Opens a counter of an event of this thread in user mode, in the group of `leader` (-1: a new
// group). Negative if the event does not exist, the group has no counter for it, or access is
// denied.
int OpenPerfEvent(uint32_t type, uint64_t config, uint64_t read_format, int leader);

}  // namespace trimtab

#endif  // TRIMTAB_APP_PERF_EVENT_H_
