// Copies bytes. The C library's memcpy is not used for tensors: small static binaries get one that
// is built for size and moves a byte at a time.
#ifndef TRIMTAB_CORE_COPY_H_
#define TRIMTAB_CORE_COPY_H_

#include <stddef.h>

namespace trimtab {

// The ranges must not overlap.
void Copy(void* to, const void* from, size_t bytes);

}  // namespace trimtab

#endif  // TRIMTAB_CORE_COPY_H_
