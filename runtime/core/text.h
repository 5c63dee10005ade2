// Formats text into a fixed buffer: the subset of printf that the engine needs, without its size.
#ifndef TRIMTAB_CORE_TEXT_H_
#define TRIMTAB_CORE_TEXT_H_

#include <stddef.h>
#include <stdint.h>

namespace trimtab {

class Text {
 public:
  // The text is always terminated; text that does not fit is truncated.
  Text(char* buffer, size_t size) : buffer_(buffer), size_(size) {
    if (size_ > 0) buffer_[0] = '\0';
  }

  Text& Add(const char* text);
  Text& Add(int64_t value);
  Text& AddHex(uint64_t value);
  void Put(char c);

  size_t length() const { return length_; }

 private:
  char* buffer_;
  size_t size_;
  size_t length_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_TEXT_H_
