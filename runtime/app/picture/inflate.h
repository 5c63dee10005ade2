// Decompression of the zlib format (RFC 1950, RFC 1951), as many bytes at a time as are wanted.
#ifndef TRIMTAB_APP_PICTURE_INFLATE_H_
#define TRIMTAB_APP_PICTURE_INFLATE_H_

#include "runtime/app/picture/decoder_support.h"

namespace trimtab {

// Where compressed bytes come from.
class ByteSource {
 public:
  // The next byte, -1 at the end.
  virtual int Next() = 0;

 protected:
  ~ByteSource() = default;
};

class Inflate {
 public:
  explicit Inflate(ByteSource* source) : source_(source) {}

  // Reads the header of the stream; false if it is wrong.
  bool Begin();

  // Decompresses the next `count` bytes; false if the stream is damaged or ends before.
  bool Read(uint8_t* to, size_t count);

  // Whether the stream ends here, with the checksum of all bytes that were read.
  bool EndsWell();

 private:
  static constexpr uint32_t kWindowBytes = 1 << 15;

  bool Fill(int count);
  bool Bits(int count, uint32_t* value);
  int Symbol(const PrefixCode& code);
  bool Step();
  bool BeginBlock();
  bool ReadCodes();
  bool MakeCode(PrefixCode* code, const uint8_t* lengths, int count);
  bool BeginCopy(int symbol);
  void Put(uint8_t value);

  ByteSource* source_;
  uint32_t hold_ = 0;
  int held_ = 0;
  enum class Block : uint8_t { kNone, kStored, kCoded, kLast } block_ = Block::kNone;
  bool is_last_ = false;
  uint32_t copy_bytes_ = 0;  // that still are to be copied from the window, or from the file
  uint32_t copy_distance_ = 0;
  uint64_t total_ = 0;
  bool has_byte_ = false;
  uint8_t byte_ = 0;
  uint32_t sum_ = 1;  // Adler-32
  uint32_t sum_of_sums_ = 0;
  PrefixCode literals_;
  PrefixCode distances_;
  uint8_t window_[kWindowBytes];
};

}  // namespace trimtab

#endif  // TRIMTAB_APP_PICTURE_INFLATE_H_
