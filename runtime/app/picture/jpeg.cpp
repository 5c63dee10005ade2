// JPEG files: baseline, extended and progressive Huffman-coded frames with 8 bits per sample, gray
// or of three components.
#include "runtime/app/picture/jpeg.h"

namespace trimtab {
namespace {

// T.81, table B.1, without the leading 0xff.
constexpr int kBaseline = 0xc0, kExtended = 0xc1, kProgressive = 0xc2, kHuffman = 0xc4;
constexpr int kFirstFrame = 0xc0, kLastFrame = 0xcf, kReserved = 0xc8, kArithmetic = 0xcc;
constexpr int kEnd = 0xd9, kScan = 0xda, kQuantization = 0xdb, kRestartInterval = 0xdd;
constexpr int kApp0 = 0xe0, kApp14 = 0xee;

// Encoders make about 10 scans. Each one of a damaged file may cost as much as a whole picture.
constexpr int kMaxScans = 100;
constexpr int kMaxUnitBlocks = 10;
constexpr int kUnknown = -1;

// The segments of a file one after the other.
class Segments {
 public:
  Segments(const uint8_t* data, size_t bytes) : at_(data + 2), end_(data + bytes) {}

  // Goes to the next segment behind `at`; false if there is none or it is cut.
  bool Next() {
    // Between segments, only restart markers and fill bytes are no surprise; libjpeg skips others.
    while (end_ - at_ >= 2) {
      if (at_[0] != 0xff || at_[1] == 0 || at_[1] == 0xff || (at_[1] & 0xf8) == 0xd0) {
        ++at_;
        continue;
      }
      marker = at_[1];
      at_ += 2;
      size = 0;
      if (marker == kEnd || marker == 0xd8 || marker == 0x01) return true;
      if (end_ - at_ < 2 || Big16(at_) < 2 || end_ - at_ < static_cast<int64_t>(Big16(at_)))
        return false;
      size = Big16(at_) - 2;
      begin = at_ + 2;
      at_ = begin + size;
      return true;
    }
    return false;
  }

  const uint8_t** at() { return &at_; }
  const uint8_t* end() const { return end_; }

  int marker = 0;
  const uint8_t* begin = nullptr;
  size_t size = 0;

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

int32_t Quotient(int32_t a, int32_t b) { return (a + b - 1) / b; }

uint64_t SampleBytes(const JpegComponent& component) { return component.blocks() * kBlock; }

uint64_t CoefficientBytes(const JpegComponent& component) {
  return component.blocks() * kBlock * sizeof(int16_t);
}

const char* ReadFrame(const Segments& segment, JpegFrame* frame) {
  const uint8_t* const at = segment.begin;
  const bool is_known =
      segment.marker == kBaseline || segment.marker == kExtended || segment.marker == kProgressive;
  if (segment.size < 6) return kDamagedPicture;
  if (!is_known || at[0] != 8 || at[5] == 4) return kOtherPicture;
  if (at[5] == 0 || (at[5] != 1 && at[5] != kMaxComponents) || segment.size != 6u + 3u * at[5])
    return kDamagedPicture;
  if (const char* wrong = CheckSides(Big16(at + 3), Big16(at + 1))) return wrong;
  frame->size.width = static_cast<int32_t>(Big16(at + 3));
  frame->size.height = static_cast<int32_t>(Big16(at + 1));
  frame->is_progressive = segment.marker == kProgressive;
  frame->count = at[5];
  for (int i = 0; i < frame->count; ++i) {
    const uint8_t* const facts = at + 6 + 3 * i;
    JpegComponent& component = frame->components[i];
    component.id = facts[0];
    component.across = facts[1] >> 4;
    component.down = facts[1] & 15;
    component.table = facts[2];
    if (component.across < 1 || component.across > 4 || component.down < 1 || component.down > 4 ||
        component.table > 3)
      return kDamagedPicture;
    if (component.across > frame->across) frame->across = component.across;
    if (component.down > frame->down) frame->down = component.down;
  }
  frame->unit_columns = Quotient(frame->size.width, kBlockSide * frame->across);
  frame->unit_rows = Quotient(frame->size.height, kBlockSide * frame->down);
  uint64_t bytes = 3 * BumpAllocator::Needed(static_cast<uint64_t>(frame->size.width));
  for (int i = 0; i < frame->count; ++i) {
    JpegComponent& component = frame->components[i];
    if (frame->across % component.across != 0 || frame->down % component.down != 0)
      return kOtherPicture;
    component.width = Quotient(frame->size.width * component.across, frame->across);
    component.height = Quotient(frame->size.height * component.down, frame->down);
    component.columns = Quotient(component.width, kBlockSide);
    component.rows = Quotient(component.height, kBlockSide);
    component.all_columns = frame->unit_columns * component.across;
    component.all_rows = frame->unit_rows * component.down;
    bytes += BumpAllocator::Needed(SampleBytes(component));
    if (frame->is_progressive) bytes += BumpAllocator::Needed(CoefficientBytes(component));
  }
  frame->size.work_bytes = bytes;
  return nullptr;
}

class Jpeg {
 public:
  // Reads up to the frame; null if there is one.
  const char* Measure(Segments* segments) {
    for (;;) {
      if (!segments->Next() || segments->marker == kScan || segments->marker == kEnd)
        return kDamagedPicture;
      if (IsFrame(segments->marker)) return ReadFrame(*segments, &frame_);
      if (!ReadTables(*segments)) return kDamagedPicture;
    }
  }

  const PictureSize& size() const { return frame_.size; }

  const char* Decode(Segments segments, const PictureSize& size, uint8_t* pixels,
                     BumpAllocator work) {
    if (const char* wrong = Measure(&segments)) return wrong;
    if (size.width != frame_.size.width || size.height != frame_.size.height || !Allocate(&work))
      return kDamagedPicture;
    int scans = 0;
    while (segments.Next() && segments.marker != kEnd) {
      if (segments.marker == kScan) {
        JpegScan scan;
        if (++scans > kMaxScans || !ReadScan(segments, &scan) ||
            !DecodeScan(frame_, scan, segments.at(), segments.end()))
          return kDamagedPicture;
      } else if (IsFrame(segments.marker) || !ReadTables(segments)) {
        return kDamagedPicture;
      }
    }
    for (int i = 0; i < frame_.count; ++i) {
      if (!frame_.components[i].has_scan) return kDamagedPicture;
      if (frame_.is_progressive) TransformAll(frame_.components[i]);
    }
    ConvertSamples(frame_, IsRgb(), rows_, pixels);
    return nullptr;
  }

 private:
  static bool IsFrame(int marker) {
    return marker >= kFirstFrame && marker <= kLastFrame && marker != kHuffman &&
           marker != kReserved && marker != kArithmetic;
  }

  // Reads a segment other than frames and scans; false if it is damaged.
  bool ReadTables(const Segments& segment) {
    const uint8_t* const at = segment.begin;
    switch (segment.marker) {
      case kHuffman:
        return ReadCodes(at, segment.size);
      case kQuantization:
        return ReadQuantization(at, segment.size);
      case kRestartInterval:
        if (segment.size != 2) return false;
        restart_ = static_cast<int32_t>(Big16(at));
        return true;
      case kApp0:
        has_jfif_ |= segment.size >= 5 && at[0] == 'J' && at[1] == 'F' && at[2] == 'I' &&
                     at[3] == 'F' && at[4] == 0;
        return true;
      case kApp14:
        if (segment.size >= 12 && at[0] == 'A' && at[1] == 'd' && at[2] == 'o' && at[3] == 'b' &&
            at[4] == 'e')
          transform_ = at[11];
        return true;
      default:
        return true;
    }
  }

  bool ReadCodes(const uint8_t* at, size_t left) {
    while (left > 0) {
      if (left < 17 || (at[0] & 15) > 3 || at[0] >> 4 > 1) return false;
      PrefixCode& code = codes_[at[0] >> 4][at[0] & 15];
      code = PrefixCode();
      size_t count = 0;
      for (int n = 1; n <= PrefixCode::kMaxLength; ++n) {
        code.counts[n] = at[n];
        count += at[n];
      }
      at += 17;
      left -= 17;
      if (count > 256 || count > left) return false;
      for (size_t i = 0; i < count; ++i) code.symbols[i] = at[i];
      at += count;
      left -= count;
      if (!code.Make()) return false;
    }
    return true;
  }

  bool ReadQuantization(const uint8_t* at, size_t left) {
    while (left > 0) {
      const bool is_wide = at[0] >> 4 != 0;
      const size_t bytes = 1 + size_t{kBlock} * (is_wide ? 2 : 1);
      if (at[0] >> 4 > 1 || (at[0] & 15) > 3 || left < bytes) return false;
      uint16_t* const table = frame_.quantization[at[0] & 15];
      for (int i = 0; i < kBlock; ++i)
        table[kZigzag[i]] = static_cast<uint16_t>(is_wide ? Big16(at + 1 + 2 * i) : at[1 + i]);
      frame_.has_quantization[at[0] & 15] = true;
      at += bytes;
      left -= bytes;
    }
    return true;
  }

  bool Allocate(BumpAllocator* work) {
    for (uint8_t*& row : rows_) {
      row = work->Take(static_cast<uint64_t>(frame_.size.width));
      if (row == nullptr) return false;
    }
    for (int i = 0; i < frame_.count; ++i) {
      JpegComponent& component = frame_.components[i];
      component.samples = work->Take(SampleBytes(component));
      if (component.samples == nullptr) return false;
      if (!frame_.is_progressive) continue;
      component.coefficients = reinterpret_cast<int16_t*>(work->Take(CoefficientBytes(component)));
      if (component.coefficients == nullptr) return false;
    }
    return true;
  }

  bool ReadScan(const Segments& segment, JpegScan* scan) {
    const uint8_t* const at = segment.begin;
    if (segment.size < 1 || at[0] < 1 || at[0] > frame_.count || segment.size != 4u + 2u * at[0])
      return false;
    scan->count = at[0];
    scan->restart = restart_;
    const uint8_t* const facts = at + 1 + 2 * scan->count;
    if (frame_.is_progressive) {
      scan->begin = facts[0];
      scan->end = facts[1];
      scan->is_refinement = facts[2] >> 4 != 0;
      scan->shift = facts[2] & 15;
      const bool is_dc = scan->begin == 0;
      if (scan->shift > 13 || (is_dc ? scan->end != 0 : scan->count != 1) || scan->end >= kBlock ||
          scan->begin > scan->end)
        return false;
    }
    int blocks = 0;
    for (int i = 0; i < scan->count; ++i) {
      const uint8_t id = at[1 + 2 * i], tables = at[2 + 2 * i];
      JpegComponent* component = nullptr;
      for (int k = 0; k < frame_.count && component == nullptr; ++k) {
        if (frame_.components[k].id == id) component = &frame_.components[k];
      }
      for (int k = 0; k < i; ++k) {
        if (scan->components[k] == component) return false;
      }
      if (component == nullptr || tables >> 4 > 3 || (tables & 15) > 3) return false;
      blocks += component->across * component->down;
      scan->components[i] = component;
      scan->dc[i] = &codes_[0][tables >> 4];
      scan->ac[i] = &codes_[1][tables & 15];
      const bool needs_dc = scan->begin == 0 && !scan->is_refinement;
      const bool needs_ac = scan->end > 0;
      if ((needs_dc && !scan->dc[i]->is_made()) || (needs_ac && !scan->ac[i]->is_made()) ||
          !frame_.has_quantization[component->table])
        return false;
      component->prediction = 0;
      component->has_scan |= scan->begin == 0;
    }
    return scan->count == 1 || blocks <= kMaxUnitBlocks;
  }

  void TransformAll(const JpegComponent& component) const {
    const size_t stride = component.sample_stride();
    for (size_t i = 0; i < component.blocks(); ++i) {
      const size_t columns = static_cast<size_t>(component.all_columns);
      uint8_t* const samples =
          component.samples + i / columns * kBlockSide * stride + i % columns * kBlockSide;
      InverseTransform(component.coefficients + i * kBlock, frame_.quantization[component.table],
                       samples, stride);
    }
  }

  // libjpeg decides alike: JFIF has no RGB; else by Adobe's segment, else by the components' names.
  bool IsRgb() const {
    if (has_jfif_) return false;
    if (transform_ != kUnknown) return transform_ == 0;
    return frame_.components[0].id == 'R' && frame_.components[1].id == 'G' &&
           frame_.components[2].id == 'B';
  }

  JpegFrame frame_;
  PrefixCode codes_[2][4];  // of DC and of AC coefficients
  int32_t restart_ = 0;
  int transform_ = kUnknown;  // of Adobe's segment; 0: RGB
  bool has_jfif_ = false;
  uint8_t* rows_[kMaxComponents] = {};
};

}  // namespace

const char* MeasureJpeg(const uint8_t* data, size_t bytes, PictureSize* size) {
  Jpeg jpeg;
  Segments segments(data, bytes);
  if (const char* wrong = jpeg.Measure(&segments)) return wrong;
  *size = jpeg.size();
  return nullptr;
}

const char* DecodeJpeg(const uint8_t* data, size_t bytes, const PictureSize& size, uint8_t* pixels,
                       uint8_t* work) {
  return Jpeg().Decode(Segments(data, bytes), size, pixels, BumpAllocator(work, size.work_bytes));
}

}  // namespace trimtab
