// Copies a few bytes.
#ifndef TRIMTAB_KERNELS_GENERIC_SHORT_COPY_H_
#define TRIMTAB_KERNELS_GENERIC_SHORT_COPY_H_

#include <stddef.h>
#include <stdint.h>

namespace {

// Copies `last` bytes and a word as two words that may overlap.
template <typename Word>
inline void CopyEnds(int8_t* to, const int8_t* from, size_t last) {
  Word first_word, last_word;
  __builtin_memcpy(&first_word, from, sizeof(Word));
  __builtin_memcpy(&last_word, from + last, sizeof(Word));
  __builtin_memcpy(to, &first_word, sizeof(Word));
  __builtin_memcpy(to + last, &last_word, sizeof(Word));
}

// Copies 1 to 16 bytes.
inline void CopyShort(int8_t* to, const int8_t* from, size_t n) {
  if (n >= 8) return CopyEnds<uint64_t>(to, from, n - 8);
  if (n >= 4) return CopyEnds<uint32_t>(to, from, n - 4);
  if (n >= 2) return CopyEnds<uint16_t>(to, from, n - 2);
  *to = *from;
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_SHORT_COPY_H_
