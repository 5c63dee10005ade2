#include "runtime/app/cores.h"

#include <stdint.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include "runtime/core/text.h"

namespace trimtab {

#if defined(__linux__)

namespace {

// Parses a number below CPU_SETSIZE and advances `at` past it; -1 if there is none.
int ParseCore(const char** at) {
  int number = -1;
  for (; **at >= '0' && **at <= '9'; ++*at) {
    number = (number < 0 ? 0 : number * 10) + (**at - '0');
    if (number >= CPU_SETSIZE) return -1;
  }
  return number;
}

}  // namespace

const char* PinToCores(const char* list) {
  const char* const malformed = "--cores is no list of cores, such as 0-3,6";
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (;; ++list) {
    const int first = ParseCore(&list);
    int last = first;
    if (*list == '-') last = ParseCore(&++list);
    if (first < 0 || last < first) return malformed;
    for (int core = first; core <= last; ++core) CPU_SET(core, &cores);
    if (*list == '\0') break;
    if (*list != ',') return malformed;
  }
  if (sched_setaffinity(0, sizeof(cores), &cores) != 0)
    return "the kernel does not let the runner onto these cores";
  return nullptr;
}

void AllowedCores(char* buffer, size_t size) {
  Text text(buffer, size);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores)) continue;
    const int first = core;
    while (core + 1 < CPU_SETSIZE && CPU_ISSET(core + 1, &cores)) ++core;
    if (text.length() > 0) text.Add(",");
    text.Add(int64_t{first});
    if (core > first) text.Add("-").Add(int64_t{core});
  }
}

#else

const char* PinToCores(const char*) { return "this system does not let programs choose cores"; }

void AllowedCores(char* buffer, size_t size) { Text(buffer, size); }

#endif

}  // namespace trimtab
