#include "runtime/app/picture/jpeg.h"

namespace trimtab {

const uint8_t kZigzag[kBlock] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

namespace {

// The bits of a scan, up to the next marker. Behind their end come zeros, and `has_failed`.
class Bits {
 public:
  Bits(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

  bool has_failed() const { return has_failed_; }
  const uint8_t* at() const { return at_; }

  int Take(int count) {
    Fill();
    const int value = count == 0 ? 0 : static_cast<int>(hold_ >> (32 - count));
    Drop(count);
    return value;
  }

  // -1 if no code follows.
  int Symbol(const PrefixCode& code) {
    Fill();
    int length = 0;
    const int symbol = code.Decode(hold_ >> 16, &length);
    if (symbol < 0) has_failed_ = true;
    Drop(length);
    return has_failed_ ? -1 : symbol;
  }

  // A number of `count` bits, whose upper half is positive (T.81, F.2.2.1).
  int Number(int count) {
    if (count == 0) return 0;
    const int value = Take(count);
    return value < 1 << (count - 1) ? value - (1 << count) + 1 : value;
  }

  // Goes behind the restart marker that follows; false if there is none.
  bool Restart() {
    hold_ = 0;
    held_ = 0;
    while (end_ - at_ >= 2 && at_[0] == 0xff && at_[1] == 0xff) ++at_;
    if (end_ - at_ < 2 || at_[0] != 0xff || (at_[1] & 0xf8) != 0xd0) return false;
    at_ += 2;
    return true;
  }

 private:
  void Fill() {
    while (held_ <= 24 && at_ != end_) {
      const uint32_t byte = *at_;
      if (byte == 0xff && (end_ - at_ < 2 || at_[1] != 0)) return;  // a marker
      at_ += byte == 0xff ? 2 : 1;
      hold_ |= byte << (24 - held_);
      held_ += 8;
    }
  }

  void Drop(int count) {
    if (count > held_) {
      has_failed_ = true;
      hold_ = 0;
      held_ = 0;
      return;
    }
    hold_ <<= count;
    held_ -= count;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  uint32_t hold_ = 0;  // the next bits, the first one highest
  int held_ = 0;
  bool has_failed_ = false;
};

class ScanDecoder {
 public:
  ScanDecoder(const JpegFrame& frame, const JpegScan& scan, const uint8_t* at, const uint8_t* end)
      : frame_(frame), scan_(scan), bits_(at, end) {}

  const uint8_t* at() const { return bits_.at(); }

  bool Decode() {
    const JpegComponent& first = *scan_.components[0];
    const bool is_single = scan_.count == 1;
    const int32_t rows = is_single ? first.rows : frame_.unit_rows;
    const int32_t columns = is_single ? first.columns : frame_.unit_columns;
    int32_t until_restart = scan_.restart;
    for (int32_t y = 0; y < rows; ++y) {
      for (int32_t x = 0; x < columns; ++x) {
        if (scan_.restart > 0 && until_restart-- == 0) {
          if (!bits_.Restart()) return false;
          for (int i = 0; i < scan_.count; ++i) scan_.components[i]->prediction = 0;
          empty_blocks_ = 0;
          until_restart = scan_.restart - 1;
        }
        if (is_single ? !DecodeBlock(0, x, y) : !DecodeUnit(x, y)) return false;
      }
    }
    return true;
  }

 private:
  bool DecodeUnit(int32_t x, int32_t y) {
    for (int i = 0; i < scan_.count; ++i) {
      const JpegComponent& component = *scan_.components[i];
      for (int v = 0; v < component.down; ++v) {
        for (int h = 0; h < component.across; ++h) {
          if (!DecodeBlock(i, x * component.across + h, y * component.down + v)) return false;
        }
      }
    }
    return true;
  }

  bool DecodeBlock(int index, int32_t x, int32_t y) {
    JpegComponent* const component = scan_.components[index];
    if (frame_.is_progressive) {
      const size_t place = static_cast<size_t>(y) * component->all_columns + x;
      int16_t* const block = component->coefficients + place * kBlock;
      bool is_well = true;
      if (scan_.begin == 0)
        is_well = scan_.is_refinement ? RefineDc(block) : ReadDc(index, block);
      else
        is_well = scan_.is_refinement ? RefineAc(block) : ReadAc(scan_.ac[0], block);
      return is_well && !bits_.has_failed();
    }
    int16_t block[kBlock] = {};
    if (!ReadDc(index, block) || !ReadBlockAc(*scan_.ac[index], block) || bits_.has_failed())
      return false;
    const size_t stride = component->sample_stride();
    uint8_t* const samples = component->samples + static_cast<size_t>(y) * kBlockSide * stride +
                             static_cast<size_t>(x) * kBlockSide;
    InverseTransform(block, frame_.quantization[component->table], samples, stride);
    return true;
  }

  // False for a number that no coefficient has.
  static bool Store(int value, int16_t* to) {
    *to = static_cast<int16_t>(value);
    return *to == value;
  }

  bool ReadDc(int index, int16_t* block) {
    JpegComponent* const component = scan_.components[index];
    const int count = bits_.Symbol(*scan_.dc[index]);
    if (count < 0 || count > 15) return false;
    component->prediction += bits_.Number(count);
    int16_t stored = 0;
    return Store(component->prediction, &stored) &&
           Store(component->prediction * (1 << scan_.shift), block);
  }

  bool RefineDc(int16_t* block) {
    if (bits_.Take(1) != 0) block[0] = static_cast<int16_t>(block[0] | 1 << scan_.shift);
    return true;
  }

  bool ReadBlockAc(const PrefixCode& code, int16_t* block) {
    for (int k = 1; k < kBlock; ++k) {
      const int symbol = bits_.Symbol(code);
      if (symbol < 0) return false;
      const int run = symbol >> 4 & 15, count = symbol & 15;
      if (count == 0 && run < 15) return true;
      k += run;
      if (k >= kBlock || !Store(bits_.Number(count), &block[kZigzag[k]])) return false;
    }
    return true;
  }

  bool ReadAc(const PrefixCode* code, int16_t* block) {
    if (empty_blocks_ > 0) {
      --empty_blocks_;
      return true;
    }
    for (int k = scan_.begin; k <= scan_.end; ++k) {
      const int symbol = bits_.Symbol(*code);
      if (symbol < 0) return false;
      const int run = symbol >> 4 & 15, count = symbol & 15;
      if (count == 0 && run < 15) {
        empty_blocks_ = (1 << run) - 1 + bits_.Take(run);
        return true;
      }
      k += run;
      if (k > scan_.end) return count == 0;
      if (count > 0 && !Store(bits_.Number(count) * (1 << scan_.shift), &block[kZigzag[k]]))
        return false;
    }
    return true;
  }

  // One more bit of a coefficient that is not 0.
  bool Refine(int16_t* coefficient) {
    const int step = 1 << scan_.shift;
    if (bits_.Take(1) == 0 || (*coefficient & step) != 0) return true;
    return Store(*coefficient + (*coefficient > 0 ? step : -step), coefficient);
  }

  bool RefineAc(int16_t* block) {
    int k = scan_.begin;
    while (empty_blocks_ == 0 && k <= scan_.end) {
      const int symbol = bits_.Symbol(*scan_.ac[0]);
      if (symbol < 0) return false;
      int run = symbol >> 4 & 15;
      const int count = symbol & 15;
      int value = 0;
      if (count > 1) return false;
      if (count == 1) {
        value = bits_.Take(1) != 0 ? 1 << scan_.shift : -(1 << scan_.shift);
      } else if (run < 15) {
        empty_blocks_ = (1 << run) + bits_.Take(run);
        break;
      }
      // Behind `run` coefficients that are still 0 stands the new one; others are refined.
      for (bool is_placed = false; !is_placed && k <= scan_.end; ++k) {
        int16_t* const coefficient = &block[kZigzag[k]];
        if (*coefficient != 0) {
          if (!Refine(coefficient)) return false;
        } else if (run-- == 0) {
          is_placed = true;
          *coefficient = static_cast<int16_t>(value);
        }
      }
    }
    if (empty_blocks_ > 0) {
      for (; k <= scan_.end; ++k) {
        int16_t* const coefficient = &block[kZigzag[k]];
        if (*coefficient != 0 && !Refine(coefficient)) return false;
      }
      --empty_blocks_;
    }
    return true;
  }

  const JpegFrame& frame_;
  const JpegScan& scan_;
  Bits bits_;
  int empty_blocks_ = 0;  // that follow, without new coefficients
};

}  // namespace

bool DecodeScan(const JpegFrame& frame, const JpegScan& scan, const uint8_t** at,
                const uint8_t* end) {
  ScanDecoder decoder(frame, scan, *at, end);
  const bool is_well = decoder.Decode();
  *at = decoder.at();
  return is_well;
}

}  // namespace trimtab
