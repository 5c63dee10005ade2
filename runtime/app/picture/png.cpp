// PNG files (ISO/IEC 15948): all color types and depths, also interlaced.
#include <stdlib.h>

#include "runtime/app/picture/inflate.h"

namespace trimtab {
namespace {

constexpr uint32_t Name(const char (&text)[5]) {
  return uint32_t{static_cast<uint8_t>(text[0])} << 24 |
         uint32_t{static_cast<uint8_t>(text[1])} << 16 |
         uint32_t{static_cast<uint8_t>(text[2])} << 8 | static_cast<uint8_t>(text[3]);
}

constexpr size_t kSignatureBytes = 8, kHeaderBytes = 13, kAroundChunk = 12;
#if FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr bool kComparesChecksums = false;  // a fuzzer does not guess them
#else
constexpr bool kComparesChecksums = true;
#endif
constexpr uint32_t kAncillary = uint32_t{0x20} << 24;  // a small first letter
enum Color : uint8_t { kGray = 0, kRgb = 2, kIndexed = 3, kGrayAlpha = 4, kRgbAlpha = 6 };

uint32_t Crc32(const uint8_t* data, size_t bytes) {
  static const uint32_t kTable[16] = {
      0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
      0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
      0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
  };
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= data[i];
    crc = kTable[crc & 15] ^ crc >> 4;
    crc = kTable[crc & 15] ^ crc >> 4;
  }
  return ~crc;
}

// The chunks of a file one after the other.
class Chunks {
 public:
  Chunks(const uint8_t* data, size_t bytes) : at_(data + kSignatureBytes), end_(data + bytes) {}

  // Goes to the next chunk; false if there is none or it is damaged.
  bool Next() {
    const size_t left = static_cast<size_t>(end_ - at_);
    if (left < kAroundChunk || Big32(at_) > left - kAroundChunk) return false;
    size = Big32(at_);
    name = Big32(at_ + 4);
    begin = at_ + 8;
    at_ = begin + size + 4;
    return !kComparesChecksums || Crc32(begin - 4, size + 4) == Big32(begin + size);
  }

  // No chunk follows any more.
  void Close() { at_ = end_; }

  uint32_t name = 0;
  const uint8_t* begin = nullptr;
  size_t size = 0;

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

// The bytes of the current IDAT chunk and of those that follow it.
class PixelData final : public ByteSource {
 public:
  explicit PixelData(Chunks* chunks) : chunks_(chunks) { Enter(); }

  int Next() override {
    while (at_ == end_) {
      if (!chunks_->Next() || chunks_->name != Name("IDAT")) {
        chunks_->Close();
        return -1;
      }
      Enter();
    }
    return *at_++;
  }

 private:
  void Enter() {
    at_ = chunks_->begin;
    end_ = at_ + chunks_->size;
  }

  Chunks* chunks_;
  const uint8_t* at_;
  const uint8_t* end_;
};

struct Header {
  int depth = 0;
  uint8_t color = 0;
  bool is_interlaced = false;

  int channels() const {
    return color == kRgb ? 3 : color == kGrayAlpha ? 2 : color == kRgbAlpha ? 4 : 1;
  }
  size_t RowBytes(int32_t width) const {
    return (static_cast<size_t>(width) * channels() * depth + 7) / 8;
  }
};

const char* ReadHeader(Chunks* chunks, Header* header, PictureSize* size) {
  if (!chunks->Next() || chunks->name != Name("IHDR") || chunks->size != kHeaderBytes)
    return kDamagedPicture;
  const uint8_t* const at = chunks->begin;
  const uint8_t depth = at[8], color = at[9];
  const bool is_small = depth == 1 || depth == 2 || depth == 4;
  const bool is_known = color == kGray || color == kRgb || color == kIndexed ||
                        color == kGrayAlpha || color == kRgbAlpha;
  if (!is_known || !(depth == 8 || (depth == 16 && color != kIndexed) ||
                     (is_small && (color == kGray || color == kIndexed))))
    return kDamagedPicture;
  if (at[10] != 0 || at[11] != 0 || at[12] > 1) return kDamagedPicture;
  if (const char* wrong = CheckSides(Big32(at), Big32(at + 4))) return wrong;
  *header = {depth, color, at[12] == 1};
  size->width = static_cast<int32_t>(Big32(at));
  size->height = static_cast<int32_t>(Big32(at + 4));
  size->work_bytes = 2 * BumpAllocator::Needed(header->RowBytes(size->width));
  return nullptr;
}

uint8_t Paeth(int left, int above, int corner) {
  const int guess = left + above - corner;
  const int a = abs(guess - left), b = abs(guess - above), c = abs(guess - corner);
  return static_cast<uint8_t>(a <= b && a <= c ? left : b <= c ? above : corner);
}

// Reverts the filter of a row; false for an unknown one.
bool Unfilter(int filter, uint8_t* row, const uint8_t* above, size_t bytes, size_t pixel_bytes) {
  if (filter > 4) return false;
  for (size_t i = 0; i < bytes && filter != 0; ++i) {
    const uint8_t left = i < pixel_bytes ? uint8_t{0} : row[i - pixel_bytes];
    const uint8_t corner = i < pixel_bytes ? uint8_t{0} : above[i - pixel_bytes];
    const int guess = filter == 1   ? left
                      : filter == 2 ? above[i]
                      : filter == 3 ? (left + above[i]) / 2
                                    : Paeth(left, above[i], corner);
    row[i] = static_cast<uint8_t>(row[i] + guess);
  }
  return true;
}

// Every `step`th pixel of every `row_step`th row, from (left, top) on.
struct Pass {
  int left, top, step, row_step;
};

class Png {
 public:
  Png(const PictureSize& size, uint8_t* pixels, BumpAllocator work)
      : size_(size), pixels_(pixels), work_(work) {}

  const char* Decode(Chunks chunks) {
    PictureSize measured;
    if (const char* wrong = ReadHeader(&chunks, &header_, &measured)) return wrong;
    if (measured.width != size_.width || measured.height != size_.height) return kDamagedPicture;
    for (int i = 0; i < 2; ++i) rows_[i] = work_.Take(header_.RowBytes(size_.width));
    if (rows_[1] == nullptr) return kDamagedPicture;
    bool has_palette = false;
    do {
      if (!chunks.Next()) return kDamagedPicture;
      if (chunks.name == Name("PLTE")) {
        has_palette = chunks.size > 0 && chunks.size % 3 == 0 && chunks.size <= sizeof(palette_);
        if (!has_palette) return kDamagedPicture;
        for (size_t i = 0; i < chunks.size; ++i) palette_[i] = chunks.begin[i];
      } else if (chunks.name != Name("IDAT") && (chunks.name & kAncillary) == 0) {
        return kDamagedPicture;
      }
    } while (chunks.name != Name("IDAT"));
    if (header_.color == kIndexed && !has_palette) return kDamagedPicture;
    PixelData data(&chunks);
    Inflate inflate(&data);
    return inflate.Begin() && ReadPasses(&inflate) && inflate.EndsWell() ? nullptr
                                                                         : kDamagedPicture;
  }

 private:
  bool ReadPasses(Inflate* inflate) {
    static const Pass kWhole = {0, 0, 1, 1};
    static const Pass kInterlaced[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                       {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    if (!header_.is_interlaced) return ReadPass(inflate, kWhole);
    for (const Pass& pass : kInterlaced) {
      if (!ReadPass(inflate, pass)) return false;
    }
    return true;
  }

  bool ReadPass(Inflate* inflate, const Pass& pass) {
    if (pass.left >= size_.width) return true;
    const int32_t columns = (size_.width - pass.left + pass.step - 1) / pass.step;
    const size_t bytes = header_.RowBytes(columns);
    const size_t pixel_bytes = header_.RowBytes(1);
    for (size_t i = 0; i < bytes; ++i) rows_[1][i] = 0;
    for (int32_t y = pass.top; y < size_.height; y += pass.row_step) {
      uint8_t filter = 0;
      if (!inflate->Read(&filter, 1) || !inflate->Read(rows_[0], bytes) ||
          !Unfilter(filter, rows_[0], rows_[1], bytes, pixel_bytes))
        return false;
      for (int32_t x = 0; x < columns; ++x) {
        const size_t column = static_cast<size_t>(pass.left) + static_cast<size_t>(x) * pass.step;
        PutPixel(x, pixels_ + 3 * (static_cast<size_t>(y) * size_.width + column));
      }
      uint8_t* const above = rows_[0];
      rows_[0] = rows_[1];
      rows_[1] = above;
    }
    return true;
  }

  // Pixel `x` of the current row as RGB with 8 bits; of 16 bits the upper 8 count.
  void PutPixel(int32_t x, uint8_t* to) const {
    const uint8_t* const row = rows_[0];
    const size_t depth = static_cast<size_t>(header_.depth), i = static_cast<size_t>(x);
    if (depth < 8) {
      const int most = (1 << depth) - 1;
      const int value = row[i * depth / 8] >> (8 - depth - i * depth % 8) & most;
      for (int c = 0; c < 3; ++c)
        to[c] = header_.color == kIndexed ? palette_[value * 3 + c]
                                          : static_cast<uint8_t>(value * 255 / most);
      return;
    }
    const size_t step = depth / 8, channels = static_cast<size_t>(header_.channels());
    const uint8_t* const at = row + i * channels * step;
    for (size_t c = 0; c < 3; ++c)
      to[c] = header_.color == kIndexed ? palette_[at[0] * 3 + c] : at[channels < 3 ? 0 : c * step];
  }

  PictureSize size_;
  uint8_t* pixels_;
  BumpAllocator work_;
  Header header_;
  uint8_t* rows_[2] = {};  // the current one, and the one above it
  uint8_t palette_[256 * 3] = {};
};

}  // namespace

const char* MeasurePng(const uint8_t* data, size_t bytes, PictureSize* size) {
  static const uint8_t kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  if (bytes < kSignatureBytes) return kDamagedPicture;
  for (size_t i = 0; i < kSignatureBytes; ++i) {
    if (data[i] != kSignature[i]) return kDamagedPicture;
  }
  Header header;
  Chunks chunks(data, bytes);
  return ReadHeader(&chunks, &header, size);
}

const char* DecodePng(const uint8_t* data, size_t bytes, const PictureSize& size, uint8_t* pixels,
                      uint8_t* work) {
  if (bytes < kSignatureBytes) return kDamagedPicture;
  return Png(size, pixels, BumpAllocator(work, size.work_bytes)).Decode(Chunks(data, bytes));
}

}  // namespace trimtab
