#include "runtime/app/picture/inflate.h"

namespace trimtab {
namespace {

constexpr int kLiterals = 286, kDistances = 30, kEndOfBlock = 256;
constexpr uint32_t kAdlerBase = 65521;

uint32_t Reversed16(uint32_t bits) {
  bits = (bits & 0x5555) << 1 | (bits >> 1 & 0x5555);
  bits = (bits & 0x3333) << 2 | (bits >> 2 & 0x3333);
  bits = (bits & 0x0f0f) << 4 | (bits >> 4 & 0x0f0f);
  return (bits & 0x00ff) << 8 | bits >> 8;
}

}  // namespace

bool Inflate::Fill(int count) {
  while (held_ < count) {
    const int byte = source_->Next();
    if (byte < 0) return false;
    hold_ |= static_cast<uint32_t>(byte) << held_;
    held_ += 8;
  }
  return true;
}

bool Inflate::Bits(int count, uint32_t* value) {
  if (!Fill(count)) return false;
  *value = hold_ & ((uint32_t{1} << count) - 1);
  hold_ >>= count;
  held_ -= count;
  return true;
}

// Near the end of the file there may be fewer bits than the longest code has.
int Inflate::Symbol(const PrefixCode& code) {
  static_cast<void>(Fill(15));
  int length = 0;
  const int symbol = code.Decode(Reversed16(hold_ & 0xffff), &length);
  if (symbol < 0 || length > held_) return -1;
  hold_ >>= length;
  held_ -= length;
  return symbol;
}

bool Inflate::Begin() {
  uint32_t method = 0, flags = 0;
  if (!Bits(8, &method) || !Bits(8, &flags)) return false;
  const bool is_deflate = (method & 15) == 8 && method >> 4 <= 7;
  return is_deflate && (method << 8 | flags) % 31 == 0 && (flags & 0x20) == 0;
}

bool Inflate::MakeCode(PrefixCode* code, const uint8_t* lengths, int count) {
  *code = PrefixCode();
  for (int i = 0; i < count; ++i) ++code->counts[lengths[i]];
  code->counts[0] = 0;
  uint32_t next[PrefixCode::kMaxLength + 2] = {};
  for (int n = 1; n <= PrefixCode::kMaxLength; ++n) next[n + 1] = next[n] + code->counts[n];
  for (int i = 0; i < count; ++i) {
    if (lengths[i] != 0) code->symbols[next[lengths[i]]++] = static_cast<uint16_t>(i);
  }
  return code->Make();
}

bool Inflate::ReadCodes() {
  static const uint8_t kOrder[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                   11, 4,  12, 3, 13, 2, 14, 1, 15};
  uint32_t literals = 0, distances = 0, own = 0, bits = 0;
  if (!Bits(5, &literals) || !Bits(5, &distances) || !Bits(4, &own)) return false;
  literals += 257;
  distances += 1;
  if (literals > kLiterals || distances > kDistances) return false;
  uint8_t lengths[kLiterals + kDistances] = {};
  for (uint32_t i = 0; i < own + 4; ++i) {
    if (!Bits(3, &bits)) return false;
    lengths[kOrder[i]] = static_cast<uint8_t>(bits);
  }
  if (!MakeCode(&literals_, lengths, 19)) return false;
  for (uint8_t& length : lengths) length = 0;
  for (uint32_t i = 0; i < literals + distances;) {
    const int symbol = Symbol(literals_);
    if (symbol < 0) return false;
    uint32_t repeat = 1;
    uint8_t length = static_cast<uint8_t>(symbol);
    if (symbol >= 16) {
      if (symbol == 16 && i == 0) return false;
      length = symbol == 16 ? lengths[i - 1] : 0;
      if (!Bits(symbol == 16 ? 2 : symbol == 17 ? 3 : 7, &bits)) return false;
      repeat = bits + (symbol == 18 ? 11 : 3);
    }
    if (repeat > literals + distances - i) return false;
    for (; repeat > 0; --repeat) lengths[i++] = length;
  }
  return MakeCode(&literals_, lengths, static_cast<int>(literals)) &&
         MakeCode(&distances_, lengths + literals, static_cast<int>(distances));
}

bool Inflate::BeginBlock() {
  uint32_t last = 0, kind = 0, bytes = 0, inverse = 0;
  if (!Bits(1, &last) || !Bits(2, &kind) || kind == 3) return false;
  is_last_ = last != 0;
  if (kind == 0) {
    if (!Bits(held_ % 8, &bytes) || !Bits(16, &bytes) || !Bits(16, &inverse)) return false;
    copy_bytes_ = bytes;
    block_ = Block::kStored;
    return (bytes ^ 0xffff) == inverse;
  }
  block_ = Block::kCoded;
  if (kind == 2) return ReadCodes();
  uint8_t lengths[288];
  for (int i = 0; i < 288; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  if (!MakeCode(&literals_, lengths, 288)) return false;
  for (int i = 0; i < kDistances; ++i) lengths[i] = 5;
  return MakeCode(&distances_, lengths, kDistances);
}

// A length, and the distance that follows it.
bool Inflate::BeginCopy(int symbol) {
  uint32_t extra = 0;
  const int n = symbol - 257;
  if (n > 28) return false;
  if (n < 8 || n == 28) {
    copy_bytes_ = n == 28 ? 258 : static_cast<uint32_t>(n) + 3;
  } else {
    const int bits = n / 4 - 1;
    if (!Bits(bits, &extra)) return false;
    copy_bytes_ = ((uint32_t{4} + n % 4) << bits) + 3 + extra;
  }
  const int code = Symbol(distances_);
  if (code < 0 || code >= kDistances) return false;
  const int bits = code < 4 ? 0 : code / 2 - 1;
  if (!Bits(bits, &extra)) return false;
  copy_distance_ =
      code < 4 ? static_cast<uint32_t>(code) + 1 : ((uint32_t{2} + code % 2) << bits) + 1 + extra;
  return copy_distance_ <= total_ && copy_distance_ <= kWindowBytes;
}

void Inflate::Put(uint8_t value) {
  window_[total_++ % kWindowBytes] = value;
  byte_ = value;
  has_byte_ = true;
}

// One step of decompression, which gives a byte or none.
bool Inflate::Step() {
  if (block_ == Block::kNone) return !is_last_ && BeginBlock();
  if (copy_bytes_ > 0) {
    --copy_bytes_;
    if (block_ == Block::kCoded) {
      Put(window_[(total_ - copy_distance_) % kWindowBytes]);
      return true;
    }
    uint32_t byte = 0;
    if (!Bits(8, &byte)) return false;
    Put(static_cast<uint8_t>(byte));
    return true;
  }
  if (block_ == Block::kStored) {
    block_ = Block::kNone;
    return true;
  }
  const int symbol = Symbol(literals_);
  if (symbol < 0) return false;
  if (symbol > kEndOfBlock) return BeginCopy(symbol);
  if (symbol < kEndOfBlock)
    Put(static_cast<uint8_t>(symbol));
  else
    block_ = Block::kNone;
  return true;
}

bool Inflate::Read(uint8_t* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    has_byte_ = false;
    while (!has_byte_) {
      if (!Step()) return false;
    }
    to[i] = byte_;
    sum_ = (sum_ + byte_) % kAdlerBase;
    sum_of_sums_ = (sum_of_sums_ + sum_) % kAdlerBase;
  }
  return true;
}

bool Inflate::EndsWell() {
  has_byte_ = false;
  while (block_ != Block::kNone || !is_last_) {
    if (!Step() || has_byte_) return false;
  }
  uint32_t bits = 0, sum = 0;
  if (!Bits(held_ % 8, &bits)) return false;
  for (int i = 0; i < 4; ++i) {
    if (!Bits(8, &bits)) return false;
    sum = sum << 8 | bits;
  }
  return sum == (sum_of_sums_ << 16 | sum_);
}

}  // namespace trimtab
