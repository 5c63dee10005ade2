#include "runtime/app/picture/jpeg.h"

namespace trimtab {
namespace {

// sqrt(2) cos(k pi / 16) with 13 bits of fraction: that of k = 4 is exactly 1, so that flat blocks
// are exact. Each pass thus multiplies by sqrt(8).
constexpr int kFraction = 13;
constexpr int kC1 = 11363, kC2 = 10703, kC3 = 9633, kC4 = 8192, kC5 = 6436, kC6 = 4433, kC7 = 2260;

constexpr int kKept = 2;                         // bits of fraction between the two passes
constexpr int kMaxCoefficient = 8191;            // 8 times as large as those of 8-bit samples
constexpr int kMaxIntermediate = (1 << 15) - 1;  // of which 61,212 / 8,192 fit into 31 bits

int Limited(int value, int most) { return value > most ? most : value < -most ? -most : value; }

// The inverse cosine transform of 8 numbers, `step` apart; the results are `shift` bits less wide.
void Transform8(const int* x, int step, int shift, int* to) {
  const int a = (x[0] + x[4 * step]) * kC4, b = (x[0] - x[4 * step]) * kC4;
  const int c = x[2 * step] * kC2 + x[6 * step] * kC6, d = x[2 * step] * kC6 - x[6 * step] * kC2;
  const int even[4] = {a + c, b + d, b - d, a - c};
  const int x1 = x[step], x3 = x[3 * step], x5 = x[5 * step], x7 = x[7 * step];
  const int odd[4] = {
      x1 * kC1 + x3 * kC3 + x5 * kC5 + x7 * kC7, x1 * kC3 - x3 * kC7 - x5 * kC1 - x7 * kC5,
      x1 * kC5 - x3 * kC1 + x5 * kC7 + x7 * kC3, x1 * kC7 - x3 * kC5 + x5 * kC3 - x7 * kC1};
  const int half = 1 << (shift - 1);
  for (int i = 0; i < 4; ++i) {
    to[i * step] = (even[i] + odd[i] + half) >> shift;
    to[(7 - i) * step] = (even[i] - odd[i] + half) >> shift;
  }
}

uint8_t Clamped(int value) {
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// A component as wide and high as the picture. Where it has half the samples, three quarters of a
// pixel come from the nearest one and a quarter from the next one, as libjpeg interpolates.
void ExpandRow(const JpegFrame& frame, const JpegComponent& c, int32_t y, uint8_t* to) {
  const int across = frame.across / c.across, down = frame.down / c.down;
  const bool is_wide = across == 2 && c.width > 2;
  const bool is_high = down == 2 && (across == 1 || is_wide);
  const int32_t row = y / down;
  int32_t other = is_high ? row + (y % 2 != 0 ? 1 : -1) : row;
  other = other < 0 ? 0 : other >= c.height ? c.height - 1 : other;
  const uint8_t* const near = c.samples + static_cast<size_t>(row) * c.sample_stride();
  const uint8_t* const far = c.samples + static_cast<size_t>(other) * c.sample_stride();
  for (int32_t x = 0; x < frame.size.width; ++x) {
    const bool is_second = x % 2 != 0;
    const int32_t column = x / across;
    int32_t next = is_wide ? column + (is_second ? 1 : -1) : column;
    next = next < 0 ? 0 : next >= c.width ? c.width - 1 : next;
    const int sum = 3 * (3 * near[column] + far[column]) + 3 * near[next] + far[next];
    int half = 8;
    if (is_wide)
      half = is_high ? (is_second ? 7 : 8) : (is_second ? 8 : 4);
    else if (is_high)
      half = y % 2 != 0 ? 8 : 4;
    to[x] = static_cast<uint8_t>((sum + half) >> 4);
  }
}

}  // namespace

void InverseTransform(const int16_t* block, const uint16_t* quantization, uint8_t* samples,
                      size_t stride) {
  int values[kBlock];
  for (int i = 0; i < kBlock; ++i) {
    // Both factors are limited, so that the product fits into 31 bits.
    const int factor = Limited(quantization[i], kMaxCoefficient);
    values[i] = Limited(Limited(block[i], kMaxCoefficient) * factor, kMaxCoefficient);
  }
  for (int i = 0; i < kBlockSide; ++i) Transform8(values + i, 8, kFraction - kKept, values + i);
  for (int& value : values) value = Limited(value, kMaxIntermediate);
  for (int i = 0; i < kBlockSide; ++i) {
    int row[kBlockSide];
    Transform8(values + 8 * i, 1, kFraction + kKept + 3, row);
    for (int k = 0; k < kBlockSide; ++k) samples[i * stride + k] = Clamped(row[k] + 128);
  }
}

void ConvertSamples(const JpegFrame& frame, bool is_rgb, uint8_t* const* rows, uint8_t* pixels) {
  for (int32_t y = 0; y < frame.size.height; ++y) {
    for (int i = 0; i < frame.count; ++i) ExpandRow(frame, frame.components[i], y, rows[i]);
    for (int32_t x = 0; x < frame.size.width; ++x, pixels += 3) {
      const int luma = rows[0][x];
      if (frame.count == 1 || is_rgb) {
        for (int i = 0; i < 3; ++i) pixels[i] = rows[frame.count == 1 ? 0 : i][x];
        continue;
      }
      // ITU T.871, with 16 bits of fraction.
      const int cb = rows[1][x] - 128, cr = rows[2][x] - 128, half = 1 << 15;
      pixels[0] = Clamped(luma + ((91881 * cr + half) >> 16));
      pixels[1] = Clamped(luma + ((-22554 * cb - 46802 * cr + half) >> 16));
      pixels[2] = Clamped(luma + ((116130 * cb + half) >> 16));
    }
  }
}

}  // namespace trimtab
