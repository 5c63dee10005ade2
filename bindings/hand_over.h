// Latency between two cores, recorded with timings of a machine.
#ifndef TRIMTAB_BINDINGS_HAND_OVER_H_
#define TRIMTAB_BINDINGS_HAND_OVER_H_

#include <utility>

namespace trimtab {

// Nanoseconds that a value takes from one core to the other and back, the minimum of a few tries:
// the cost of ending a loop that two threads share. Negative if a thread may not run on these
// cores.
double HandOverNs(std::pair<int, int> cores);

}  // namespace trimtab

#endif  // TRIMTAB_BINDINGS_HAND_OVER_H_
