#include "runtime/app/pacer.h"

#if TRIMTAB_PACED

#include <errno.h>
#include <time.h>

#include "runtime/app/meter.h"

namespace trimtab {

Pacer::Pacer(int64_t period_ns) : period_ns_(period_ns), start_ns_(NowNs()) {}

void Pacer::Next() {
  const int64_t newest = (NowNs() - start_ns_) / period_ns_;
  if (newest > frame_) {
    frame_ = newest;
    return;
  }
  ++frame_;
  const int64_t due_ns = arrival_ns();
  const timespec due = {static_cast<time_t>(due_ns / 1000000000),
                        static_cast<long>(due_ns % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr) == EINTR) {
  }
}

}  // namespace trimtab

#endif
