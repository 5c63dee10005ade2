// perf_event_open(2), which no C library wraps.
#ifndef TRIMTAB_APP_PERF_EVENT_H_
#define TRIMTAB_APP_PERF_EVENT_H_

#include <stdint.h>

namespace trimtab {

// A counter of an event of this thread in user mode, in the group of `leader` (-1: of its own).
// Negative where the kernel has no such event, no counter for it in that group, or does not let us.
int OpenPerfEvent(uint32_t type, uint64_t config, uint64_t read_format, int leader);

}  // namespace trimtab

#endif  // TRIMTAB_APP_PERF_EVENT_H_
