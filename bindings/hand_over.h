// How far two cores are from each other, for what is noted of a machine while it is timed.
#ifndef TRIMTAB_BINDINGS_HAND_OVER_H_
#define TRIMTAB_BINDINGS_HAND_OVER_H_

#include <utility>

namespace trimtab {

// Nanoseconds that a number takes from one core to the other and back, the least of a few tries: what
// the end of each loop that two threads share costs. Negative where a thread may not run on them.
double HandOverNs(std::pair<int, int> cores);

}  // namespace trimtab

#endif  // TRIMTAB_BINDINGS_HAND_OVER_H_
