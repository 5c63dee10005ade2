// Writes text into a fixed buffer: what the engine needs of printf, without its size.
#ifndef TRIMTAB_CORE_TEXT_H_
#define TRIMTAB_CORE_TEXT_H_

#include <stddef.h>
#include <stdint.h>

namespace trimtab {

class Text {
 public:
  // The text is always terminated; what does not fit is cut off.
  Text(char* buffer, size_t size) : buffer_(buffer), size_(size) {
    if (size_ > 0) buffer_[0] = '\0';
  }

  Text& Add(const char* text) {
    while (*text != '\0') Put(*text++);
    return *this;
  }

  Text& Add(int64_t value) {
    char digits[20];
    int n = 0;
    uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (value < 0) Put('-');
    do digits[n++] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    while (n > 0) Put(digits[--n]);
    return *this;
  }

  Text& AddHex(uint64_t value) {
    for (int shift = 60; shift >= 0; shift -= 4) Put("0123456789abcdef"[(value >> shift) & 15]);
    return *this;
  }

  void Put(char c) {
    if (length_ + 1 >= size_) return;
    buffer_[length_++] = c;
    buffer_[length_] = '\0';
  }

  size_t length() const { return length_; }

 private:
  char* buffer_;
  size_t size_;
  size_t length_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_TEXT_H_
