// One JSON object per line on stdout: the runner's only output.
#ifndef TRIMTAB_APP_JSON_LINE_H_
#define TRIMTAB_APP_JSON_LINE_H_

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "runtime/core/text.h"

namespace trimtab {

class JsonLine {
 public:
  explicit JsonLine(const char* event) : text_(buffer, sizeof(buffer) - 2) {
    text_.Add("{\"event\":\"").Add(event).Add("\"");
  }

  JsonLine& Number(const char* key, int64_t value) {
    Key(key).Add(value);
    return *this;
  }
  // Writes null for a negative value, which means "not measured".
  JsonLine& NumberOrNull(const char* key, int64_t value) {
    if (value >= 0) return Number(key, value);
    Key(key).Add("null");
    return *this;
  }
  JsonLine& Numbers(const char* key, const int32_t* values, int32_t count) {
    Key(key).Add("[");
    for (int32_t i = 0; i < count; ++i) {
      if (i > 0) text_.Put(',');
      text_.Add(int64_t{values[i]});
    }
    text_.Put(']');
    return *this;
  }
  // A number in steps of 1 / `steps`, a power of 10; null for one above 1e9 or NaN.
  JsonLine& Decimal(const char* key, float value, int64_t steps) {
    Key(key);
    AddDecimal(value, steps);
    return *this;
  }
  JsonLine& Decimals(const char* key, const float* values, int count, int64_t steps) {
    Key(key);
    for (int i = 0; i < count; ++i) {
      text_.Put(i == 0 ? '[' : ',');
      AddDecimal(values[i], steps);
    }
    text_.Put(']');
    return *this;
  }
  JsonLine& Hex(const char* key, uint64_t value) {
    Key(key).Add("\"").AddHex(value).Add("\"");
    return *this;
  }
  JsonLine& String(const char* key, const char* value) {
    Key(key).Add("\"");
    Escape(value);
    text_.Add("\"");
    return *this;
  }
  // `names`: joined by commas, as by trimtab_cpu_features.
  JsonLine& Names(const char* key, const char* names) {
    Key(key).Add("[");
    if (*names != '\0') text_.Put('"');
    for (; *names != '\0'; ++names) {
      if (*names == ',') {
        text_.Add("\",\"");
      } else {
        text_.Put(*names);
      }
      if (names[1] == '\0') text_.Put('"');
    }
    text_.Add("]");
    return *this;
  }

  // A list of lists of `count` numbers, a[i] - b[i], or of null if `known` is false.
  void BeginList(const char* key) {
    Key(key);
    separator_ = '[';
  }
  void Differences(bool known, const uint64_t* a, const uint64_t* b, int count) {
    text_.Put(separator_);
    separator_ = ',';
    if (!known) {
      text_.Add("null");
      return;
    }
    for (int i = 0; i < count; ++i) {
      text_.Put(i == 0 ? '[' : ',');
      text_.Add(static_cast<int64_t>(a[i] - b[i]));
    }
    text_.Put(']');
  }
  void EndList() { text_.Put(']'); }

  void Write() {
    size_t length = text_.length();
    buffer[length++] = '}';
    buffer[length++] = '\n';
    WriteAll(1, buffer, length);
  }

  static bool WriteAll(int file, const void* data, size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t written = write(file, at, size);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      at += written;
      size -= static_cast<size_t>(written);
    }
    return true;
  }

 private:
  Text& Key(const char* key) { return text_.Add(",\"").Add(key).Add("\":"); }

  void AddDecimal(float value, int64_t steps) {
    const float magnitude = value < 0 ? -value : value;
    if (!(magnitude <= 1e9f)) {
      text_.Add("null");
      return;
    }
    const double exact = double{magnitude} * static_cast<double>(steps);
    auto whole = static_cast<int64_t>(exact);
    if (exact - static_cast<double>(whole) >= 0.5) ++whole;
    if (value < 0 && whole != 0) text_.Put('-');
    text_.Add(whole / steps).Put('.');
    for (int64_t step = steps / 10, rest = whole % steps; step != 0; rest %= step, step /= 10)
      text_.Put(static_cast<char>('0' + rest / step));
  }

  void Escape(const char* value) {
    for (; *value != '\0'; ++value) {
      const unsigned char c = static_cast<unsigned char>(*value);
      if (c == '"' || c == '\\') text_.Put('\\');
      text_.Put(c < 0x20 ? ' ' : static_cast<char>(c));
    }
  }

  // The longest line has the shares of 64 threads. One static buffer for all lines: on the stack it
  // takes more code to address.
  static inline char buffer[4096];
  char separator_ = '[';
  Text text_;
};

}  // namespace trimtab

#endif  // TRIMTAB_APP_JSON_LINE_H_
