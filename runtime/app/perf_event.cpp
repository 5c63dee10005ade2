#include "runtime/app/perf_event.h"

#if defined(__linux__)
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace trimtab {

#if defined(__linux__)

static_assert(kHardware == PERF_TYPE_HARDWARE && kInstructions == PERF_COUNT_HW_INSTRUCTIONS &&
                  kGroupWithTimes == (PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                      PERF_FORMAT_TOTAL_TIME_RUNNING),
              "they are those of Linux");

int OpenPerfEvent(uint32_t type, uint64_t config, uint64_t read_format, int leader) {
  perf_event_attr attributes;
  memset(&attributes, 0, sizeof(attributes));
  attributes.size = sizeof(attributes);
  attributes.type = type;
  attributes.config = config;
  attributes.read_format = read_format;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, leader, 0));
}

#else

int OpenPerfEvent(uint32_t, uint64_t, uint64_t, int) { return -1; }

#endif

}  // namespace trimtab
