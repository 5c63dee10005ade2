#include "runtime/core/text.h"

namespace trimtab {

Text& Text::Add(const char* text) {
  while (*text != '\0') Put(*text++);
  return *this;
}

Text& Text::Add(int64_t value) {
  char digits[20];
  int n = 0;
  uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (value < 0) Put('-');
  do digits[n++] = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) != 0);
  while (n > 0) Put(digits[--n]);
  return *this;
}

Text& Text::AddHex(uint64_t value) {
  for (int shift = 60; shift >= 0; shift -= 4) Put("0123456789abcdef"[(value >> shift) & 15]);
  return *this;
}

void Text::Put(char c) {
  if (length_ + 1 >= size_) return;
  buffer_[length_++] = c;
  buffer_[length_] = '\0';
}

}  // namespace trimtab
