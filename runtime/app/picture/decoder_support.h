// What the decoders share: errors, numbers of a file, memory, and prefix codes.
#ifndef TRIMTAB_APP_PICTURE_DECODER_SUPPORT_H_
#define TRIMTAB_APP_PICTURE_DECODER_SUPPORT_H_

#if FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#include <sanitizer/asan_interface.h>
#endif

#include "runtime/app/picture/picture.h"

namespace trimtab {

constexpr char kDamagedPicture[] = "a JPEG or PNG file is damaged";
constexpr char kLargePicture[] = "a JPEG or PNG file has a side above 16384 pixels";
constexpr char kOtherPicture[] =
    "a JPEG or PNG file is of a kind that is not read: convert it to RGB with 8 bits per channel";

inline uint32_t Big16(const uint8_t* at) { return uint32_t{at[0]} << 8 | at[1]; }
inline uint32_t Big32(const uint8_t* at) { return Big16(at) << 16 | Big16(at + 2); }

// Null if a picture may have these sides.
inline const char* CheckSides(uint32_t width, uint32_t height) {
  if (width == 0 || height == 0) return kDamagedPicture;
  return width > kMaxPictureSide || height > kMaxPictureSide ? kLargePicture : nullptr;
}

// Hands out zeroed pieces of a block of memory.
class BumpAllocator {
 public:
  BumpAllocator(uint8_t* begin, uint64_t bytes) : at_(begin), left_(bytes) {}

  // The bytes that `Take` uses. For the fuzzer there is a gap behind each piece.
  static constexpr uint64_t Needed(uint64_t bytes) { return (bytes + 63) / 64 * 64 + kGapBytes; }

  // Null if the block is too small.
  uint8_t* Take(uint64_t bytes) {
    if (Needed(bytes) > left_) return nullptr;
    uint8_t* const piece = at_;
#if FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    __asan_poison_memory_region(piece + bytes, Needed(bytes) - bytes);
#endif
    at_ += Needed(bytes);
    left_ -= Needed(bytes);
    return piece;
  }

 private:
#if FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  static constexpr uint64_t kGapBytes = 64;
#else
  static constexpr uint64_t kGapBytes = 0;
#endif

  uint8_t* at_;
  uint64_t left_;
};

// A canonical prefix code, as ITU T.81 (annex C) and RFC 1951 (3.2.2) define it.
class PrefixCode {
 public:
  static constexpr int kMaxLength = 16;
  static constexpr int kMaxSymbols = 288;

  uint16_t counts[kMaxLength + 1] = {};  // of the codes of each length
  uint16_t symbols[kMaxSymbols] = {};    // in the order of their codes; missing ones are 0

  // Makes the code of `counts` and `symbols`; false if there are more codes than their lengths
  // allow.
  bool Make() {
    uint32_t code = 0, index = 0;
    for (uint32_t& entry : quick_) entry = 0;
    is_made_ = false;
    for (int length = 1; length <= kMaxLength; ++length) {
      const uint32_t begin = code, end = code + counts[length];
      if (end > uint32_t{1} << length || index + counts[length] > kMaxSymbols) return false;
      if (length <= kQuickBits) {
        for (uint32_t i = begin << (kQuickBits - length); i < end << (kQuickBits - length); ++i) {
          const uint32_t symbol = symbols[index + (i >> (kQuickBits - length)) - begin];
          quick_[i] = symbol << 8 | static_cast<uint32_t>(length);
        }
      }
      first_index_[length] = index - begin;  // wraps around; so does the sum in Decode
      limit_[length] = end << (kMaxLength - length);
      index += counts[length];
      code = end << 1;
    }
    is_made_ = true;
    return true;
  }

  bool is_made() const { return is_made_; }

  // The symbol and length of the code that begins the 16 bits `next`, the first one highest; -1 for
  // none.
  int Decode(uint32_t next, int* length) const {
    if (const uint32_t entry = quick_[next >> (kMaxLength - kQuickBits)]) {
      *length = static_cast<int>(entry & 255);
      return static_cast<int>(entry >> 8);
    }
    for (int n = kQuickBits + 1; n <= kMaxLength; ++n) {
      if (next >= limit_[n]) continue;
      *length = n;
      const uint32_t index = first_index_[n] + (next >> (kMaxLength - n));
      return index < kMaxSymbols ? symbols[index] : -1;
    }
    return -1;
  }

 private:
  static constexpr int kQuickBits = 8;

  uint32_t quick_[1 << kQuickBits] = {};  // symbol and length of short codes
  uint32_t first_index_[kMaxLength + 1] = {};
  uint32_t limit_[kMaxLength + 1] = {};
  bool is_made_ = false;
};

const char* MeasurePng(const uint8_t* data, size_t bytes, PictureSize* size);
const char* DecodePng(const uint8_t* data, size_t bytes, const PictureSize& size, uint8_t* pixels,
                      uint8_t* work);
const char* MeasureJpeg(const uint8_t* data, size_t bytes, PictureSize* size);
const char* DecodeJpeg(const uint8_t* data, size_t bytes, const PictureSize& size, uint8_t* pixels,
                       uint8_t* work);

}  // namespace trimtab

#endif  // TRIMTAB_APP_PICTURE_DECODER_SUPPORT_H_
