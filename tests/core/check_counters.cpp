// Checks the runner's hardware counters against a fake kernel: missing events, a PMU with few
// counters and multiplexed groups, a kernel that counts nothing.
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

struct Kernel {
  int most_per_group;  // counters of its PMU
  uint64_t lacks;      // an event that does not exist
  bool refuses;        // perf_event_paranoid, or a container

  struct Event {
    uint32_t type;
    uint64_t config;
    int leader;  // its own file if it is a leader
  } event[32];
  int events;
  uint64_t enabled_ns, running_ns, count;  // of the first event; the others count multiples
} kernel;

constexpr int kFirstFile = 100;

long FakeSyscall(long number, ...) {
  va_list list;
  va_start(list, number);
  const auto* attributes = va_arg(list, const perf_event_attr*);
  const int pid = va_arg(list, int), cpu = va_arg(list, int);
  int leader = va_arg(list, int);
  va_end(list);
  const bool is_user_only = attributes->exclude_kernel != 0 && attributes->exclude_hv != 0;
  if (number != SYS_perf_event_open || pid != 0 || cpu != -1 || !is_user_only ||
      attributes->size != sizeof(perf_event_attr) || kernel.refuses) {
    errno = EACCES;
    return -1;
  }
  const int file = kFirstFile + kernel.events;
  int members = 0;
  for (int i = 0; i < kernel.events; ++i) members += kernel.event[i].leader == leader ? 1 : 0;
  if (attributes->config == kernel.lacks || members == kernel.most_per_group) {
    errno = attributes->config == kernel.lacks ? ENOENT : EINVAL;
    return -1;
  }
  if (leader < 0) leader = file;
  kernel.event[kernel.events++] = {attributes->type, attributes->config, leader};
  return file;
}

// A group's values in the layout of PERF_FORMAT_GROUP.
ssize_t FakeRead(int file, void* data, size_t bytes) {
  uint64_t words[32] = {0, kernel.enabled_ns, kernel.running_ns};
  for (int i = 0; i < kernel.events; ++i) {
    if (kernel.event[i].leader == file)
      words[3 + words[0]++] = kernel.count * static_cast<uint64_t>(i + 1);
  }
  const size_t length = (3 + words[0]) * sizeof(words[0]);
  if (words[0] == 0 || length > bytes) {
    errno = words[0] == 0 ? EBADF : ENOSPC;
    return -1;
  }
  memcpy(data, words, length);
  return static_cast<ssize_t>(length);
}

}  // namespace

#define syscall FakeSyscall
#define read FakeRead
#include "runtime/app/counters.cpp"    // NOLINT(bugprone-suspicious-include)
#include "runtime/app/perf_event.cpp"  // NOLINT(bugprone-suspicious-include)
#undef syscall
#undef read

namespace {

using trimtab::Counters;

constexpr uint64_t kNone = ~uint64_t{0};
int failures = 0;

void Expect(bool holds, const char* what) {
  if (holds) return;
  printf("FAILED: %s\n", what);
  ++failures;
}

void Boot(int most_per_group, uint64_t lacks, bool refuses = false) {
  kernel = {};
  kernel.most_per_group = most_per_group;
  kernel.lacks = lacks;
  kernel.refuses = refuses;
}

void CheckOneGroup() {
  Boot(6, kNone);
  Counters counters;
  Expect(counters.Open("0:0,3:10003,4:1a"), "a list of hexadecimal numbers is understood");
  Expect(counters.size() == 3 && kernel.events == 3, "each of its events is opened");
  Expect(kernel.event[1].type == 3 && kernel.event[1].config == 0x10003, "as it was written");
  Expect(kernel.event[2].leader == kFirstFile, "they are one group");
  kernel.count = 7;
  kernel.enabled_ns = 100;
  kernel.running_ns = 40;
  Counters::Reading now[Counters::kMaxCounters];
  counters.Read(now);
  Expect(now[0][0] == 7 && now[1][0] == 14 && now[2][0] == 21, "each event has its own count");
  Expect(now[2][1] == 100 && now[2][2] == 40, "a group that took turns says for how long it ran");
}

void CheckSmallPmu() {
  Boot(2, 0x2);
  Counters counters;
  Expect(counters.Open("0:0,0:1,0:2,0:3,0:4,0:5"), "an event that the kernel lacks is no error");
  Expect(counters.has(0) && counters.has(1) && !counters.has(2) && counters.has(5),
         "it is left out");
  Expect(kernel.event[1].leader == kFirstFile && kernel.event[3].leader == kFirstFile + 2,
         "what does not fit into a group begins the next one");
  kernel.count = 1;
  Counters::Reading now[Counters::kMaxCounters];
  counters.Read(now);
  Expect(now[1][0] == 2 && now[2][0] == 0 && now[3][0] == 3 && now[4][0] == 4 && now[5][0] == 5,
         "counts find their events across groups");
}

void CheckLargePmu() {
  Boot(20, kNone);
  Counters counters;
  Expect(counters.Open("0:0,0:1,0:2,0:3,0:4,0:5,0:6,0:7,0:8,0:9,0:a,0:b"), "twelve fit");
  Expect(kernel.event[3].leader == kFirstFile && kernel.event[4].leader == kFirstFile + 4,
         "groups stay small where the PMU claims to have room");
}

void CheckSilentKernel() {
  Boot(6, kNone, true);
  Counters counters;
  Expect(counters.Open("0:0,0:1"), "a kernel that refuses is no error");
  Expect(counters.size() == 2 && !counters.has(0) && !counters.has(1), "and gives nothing");
  Counters::Reading now[Counters::kMaxCounters];
  counters.Read(now);
  Expect(now[1][0] == 0 && now[1][2] == 0, "nothing is read");
}

void CheckDeadFile() {
  Boot(6, kNone);
  Counters counters;
  Expect(counters.Open("0:0"), "one event is a list");
  kernel.events = 0;
  Counters::Reading now[Counters::kMaxCounters];
  counters.Read(now);
  Expect(now[0][0] == 0 && now[0][1] == 0, "a file that cannot be read counts nothing");
}

void CheckLists() {
  const char* const wrong[] = {"",
                               "0",
                               "0:",
                               ":1",
                               "0:1,",
                               "0:1,2",
                               "x:1",
                               "0:1 ",
                               "0:A",
                               "-1:0",
                               "0:1,,0:2",
                               "0x0:1",
                               "0:0,0:1,0:2,0:3,0:4,0:5,0:6,0:7,0:8,0:9,0:a,0:b,0:c"};
  for (const char* list : wrong) {
    Boot(6, kNone);
    Counters counters;
    Expect(!counters.Open(list), list);
  }
}

}  // namespace

int main() {
  CheckOneGroup();
  CheckSmallPmu();
  CheckLargePmu();
  CheckSilentKernel();
  CheckDeadFile();
  CheckLists();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
