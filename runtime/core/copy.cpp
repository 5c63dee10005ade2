#include "runtime/core/copy.h"

#include <stdint.h>
#include <string.h>

namespace trimtab {

void Copy(void* to, const void* from, size_t bytes) {
#ifdef __GLIBC__  // has one for each core, in a library of its own
  memcpy(to, from, bytes);
#else
  using Word = uint32_t __attribute__((may_alias));
  struct __attribute__((may_alias)) Block {
    uint32_t words[8];
  };
  auto* y = static_cast<char*>(to);
  const auto* x = static_cast<const char*>(from);
  if (((reinterpret_cast<uintptr_t>(y) | reinterpret_cast<uintptr_t>(x)) & 3) == 0) {
    for (; bytes >= sizeof(Block); bytes -= sizeof(Block)) {
      *reinterpret_cast<Block*>(y) = *reinterpret_cast<const Block*>(x);
      y += sizeof(Block);
      x += sizeof(Block);
      __asm__ volatile(
          "" ::
              : "memory");  // keeps the compiler from turning this loop into a call of memcpy
    }
    for (; bytes >= sizeof(Word); bytes -= sizeof(Word)) {
      *reinterpret_cast<Word*>(y) = *reinterpret_cast<const Word*>(x);
      y += sizeof(Word);
      x += sizeof(Word);
      __asm__ volatile("" ::: "memory");
    }
  }
  memcpy(y, x, bytes);
#endif
}

}  // namespace trimtab
