#include "runtime/app/perf_event.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace trimtab {

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

}  // namespace trimtab
