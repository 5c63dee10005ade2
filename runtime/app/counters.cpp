#include "runtime/app/counters.h"

#include <string.h>
#include <unistd.h>

#include "runtime/app/perf_event.h"

namespace trimtab {
namespace {

// Parses a hexadecimal number; returns its end, or null if there is no digit.
const char* ParseHex(const char* text, uint64_t* value) {
  const char* at = text;
  for (*value = 0;; ++at) {
    const int digit = *at >= '0' && *at <= '9'   ? *at - '0'
                      : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10
                                                 : -1;
    if (digit < 0) return at == text ? nullptr : at;
    *value = *value << 4 | static_cast<uint64_t>(digit);
  }
}

}  // namespace

bool Counters::Open(const char* list) {
  for (;; ++list) {
    uint64_t type, config;
    list = ParseHex(list, &type);
    if (list == nullptr || *list != ':') return false;
    list = ParseHex(list + 1, &config);
    if (list == nullptr || size_ == kMaxCounters) return false;
    OpenEvent(static_cast<uint32_t>(type), config);
    if (*list != ',') return *list == '\0';
  }
}

void Counters::OpenEvent(uint32_t type, uint64_t config) {
  int file = group_ < kGroup ? OpenPerfEvent(type, config, kGroupWithTimes, leader_) : -1;
  leads_[size_] = file < 0;
  if (file < 0) {  // the group is full, or the event does not exist
    file = OpenPerfEvent(type, config, kGroupWithTimes, -1);
    if (file >= 0) {
      leader_ = file;
      group_ = 0;
    }
  }
  if (file >= 0) ++group_;
  file_[size_++] = file;
}

void Counters::Read(Reading* now) const {
  struct {
    uint64_t events, enabled_ns, running_ns, count[kGroup];
  } group;
  memset(now, 0, kMaxCounters * sizeof(*now));
  bool is_read = false;
  int next = 0;
  for (int i = 0; i < size_; ++i) {
    if (!has(i)) continue;
    if (leads_[i]) {
      is_read = read(file_[i], &group, sizeof(group)) > 0;
      next = 0;
    }
    if (!is_read) continue;
    now[i][0] = group.count[next++];
    now[i][1] = group.enabled_ns;
    now[i][2] = group.running_ns;
  }
}

}  // namespace trimtab
