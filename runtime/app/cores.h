// CPU affinity of the runner.
#ifndef TRIMTAB_APP_CORES_H_
#define TRIMTAB_APP_CORES_H_

#include <stddef.h>

namespace trimtab {

// Pins this process, and the threads that it starts from now on, to the cores of `list`, in the
// kernel's notation: "0-3,6". Returns the error, or null.
const char* PinToCores(const char* list);

// Writes the affinity of the calling thread in the kernel's notation, "0-3,6"; "" if it is unknown.
void AllowedCores(char* text, size_t size);

}  // namespace trimtab

#endif  // TRIMTAB_APP_CORES_H_
