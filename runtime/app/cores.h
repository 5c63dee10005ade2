// The cores that the runner may run on.
#ifndef TRIMTAB_APP_CORES_H_
#define TRIMTAB_APP_CORES_H_

#include <stddef.h>

namespace trimtab {

// Keeps this process, and the threads that it starts from now on, to the cores of `list`, as
// kernels write them: "0-3,6". Null when that was done, else what is wrong.
const char* PinToCores(const char* list);

// Writes where the calling thread may run, as the kernel tells it: "0-3,6"; "" where it does not.
void AllowedCores(char* text, size_t size);

}  // namespace trimtab

#endif  // TRIMTAB_APP_CORES_H_
