#include "runtime/core/capacity.h"

#if TRIMTAB_THREADS && defined(__linux__)
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/core/text.h"

namespace trimtab {
namespace {

// Reads the number in a sysfs file; 0 if there is none or it is no capacity.
uint16_t ReadNumber(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[8];
  const ssize_t length = read(file, text, sizeof(text));
  close(file);
  uint32_t number = 0;
  for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; ++i)
    number = number * 10 + static_cast<uint32_t>(text[i] - '0');
  return number <= UINT16_MAX ? static_cast<uint16_t>(number) : 0;
}

}  // namespace

void Capacities::Read(const char* folder) {
  uint16_t known = 0;
  for (int i = 0; i < kMaxCores; ++i) {
    char path[128];
    Text(path, sizeof(path)).Add(folder).Add("/cpu").Add(int64_t{i}).Add("/cpu_capacity");
    of_[i] = ReadNumber(path);
    if (of_[0] == 0) return;  // the system reports no capacities
    differ_ |= of_[i] != 0 && known != 0 && of_[i] != known;
    known = of_[i] != 0 ? of_[i] : known;
  }
}

uint32_t Capacities::OfThisThread() const {
  unsigned core = 0;
  syscall(SYS_getcpu, &core, nullptr, nullptr);
  return core < kMaxCores && of_[core] != 0 ? of_[core] : 1024;
}

}  // namespace trimtab
#elif TRIMTAB_THREADS
namespace trimtab {

// Only Linux describes how unlike its cores are, and tells a thread where it runs.
void Capacities::Read(const char*) {}

uint32_t Capacities::OfThisThread() const { return 1024; }

}  // namespace trimtab
#endif
