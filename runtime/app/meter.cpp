#include "runtime/app/meter.h"

#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <fcntl.h>
#include <sys/syscall.h>
#endif

#include "runtime/app/perf_event.h"

namespace trimtab {
namespace {

#if defined(__linux__)

// "trim": no such prctl exists, so the kernel rejects it at once.
constexpr int kMarker = 0x7472696d;

void Mark(Phase phase, int64_t index) {
  syscall(SYS_prctl, kMarker, static_cast<unsigned long>(phase), static_cast<unsigned long>(index),
          0, 0);
}

// Value of a key in lines "Key:   123 kB"; -1 if it is missing.
int64_t BytesBehind(const char* name, const char* at) {
  const char* key = name;
  for (; *at != '\0' && *key != '\0'; ++at)
    key = *at == *key ? key + 1 : *at == *name ? name + 1 : name;
  if (*key != '\0') return -1;
  int64_t kib = 0;
  for (; *at == ' ' || *at == '\t'; ++at) {
  }
  for (; *at >= '0' && *at <= '9'; ++at) kib = kib * 10 + (*at - '0');
  return kib * 1024;
}

#else

void Mark(Phase, int64_t) {}  // for QEMU, which runs programs of Linux

#endif

int64_t ReadNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

}  // namespace

int64_t NowNs() { return ReadNs(CLOCK_MONOTONIC); }

int64_t CpuNs() { return ReadNs(CLOCK_PROCESS_CPUTIME_ID); }

#if defined(__linux__)

Resident ReadResident() {
  char text[4096];
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t length = file >= 0 ? read(file, text, sizeof(text) - 1) : 0;
  if (file >= 0) close(file);
  text[length > 0 ? length : 0] = '\0';
  return {BytesBehind("VmHWM:", text), BytesBehind("RssFile:", text)};
}

#else

Resident ReadResident() { return {-1, -1}; }

#endif

Meter::Meter(bool markers, const Counters& counters)
    : markers_(markers),
      counters_(counters),
      counter_(OpenPerfEvent(kHardware, kInstructions, 0, -1)) {}

int64_t Meter::ReadCounter() const {
  int64_t count = -1;
  if (counter_ < 0 || read(counter_, &count, sizeof(count)) != sizeof(count)) return -1;
  return count;
}

void Meter::Begin(Phase phase, int64_t index) {
  if (markers_) Mark(phase, index);
  counters_.Read(start_);
  start_instructions_ = ReadCounter();
  start_ns_ = NowNs();
}

void Meter::End(Phase phase, int64_t index) {
  ns_ = NowNs() - start_ns_;
  const int64_t end = ReadCounter();
  instructions_ =
      start_instructions_ >= 0 && end >= start_instructions_ ? end - start_instructions_ : -1;
  counters_.Read(end_);
  if (markers_) Mark(phase, index);
}

void Meter::AddTo(JsonLine* line) const {
  line->Number("ns", ns_).NumberOrNull("instructions", instructions_);
  if (counters_.size() == 0) return;
  line->BeginList("counters");
  for (int i = 0; i < counters_.size(); ++i)
    line->Differences(counters_.has(i), end_[i], start_[i], 3);
  line->EndList();
}

}  // namespace trimtab
