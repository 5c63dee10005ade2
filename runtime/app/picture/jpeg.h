// The parts of the JPEG decoder (ITU T.81): a frame, its scans, and the pixels of its blocks.
#ifndef TRIMTAB_APP_PICTURE_JPEG_H_
#define TRIMTAB_APP_PICTURE_JPEG_H_

#include "runtime/app/picture/decoder_support.h"

namespace trimtab {

constexpr int kBlock = 64;     // coefficients
constexpr int kBlockSide = 8;  // pixels
constexpr int kMaxComponents = 3;

struct JpegComponent {
  uint8_t id = 0;
  int across = 1;  // sampling factors
  int down = 1;
  int table = 0;      // of quantization
  int32_t width = 0;  // in samples
  int32_t height = 0;
  int32_t columns = 0;  // of blocks that belong to the picture
  int32_t rows = 0;
  int32_t all_columns = 0;  // of blocks, with those that fill the last units
  int32_t all_rows = 0;
  int16_t* coefficients = nullptr;  // of all blocks, in a progressive frame
  uint8_t* samples = nullptr;       // of all blocks, in rows of the picture
  int prediction = 0;               // of the next DC coefficient
  bool has_scan = false;

  size_t sample_stride() const { return static_cast<size_t>(all_columns) * kBlockSide; }
  size_t blocks() const { return static_cast<size_t>(all_columns) * static_cast<size_t>(all_rows); }
};

struct JpegFrame {
  PictureSize size;
  bool is_progressive = false;
  int count = 0;   // of components
  int across = 1;  // largest sampling factors
  int down = 1;
  int32_t unit_columns = 0;  // of a scan of several components
  int32_t unit_rows = 0;
  JpegComponent components[kMaxComponents];
  uint16_t quantization[4][kBlock] = {};
  bool has_quantization[4] = {};
};

// A scan: how many coefficients of which components follow.
struct JpegScan {
  int count = 0;
  JpegComponent* components[kMaxComponents] = {};
  const PrefixCode* dc[kMaxComponents] = {};
  const PrefixCode* ac[kMaxComponents] = {};
  int begin = 0, end = 63;  // of the coefficients
  bool is_refinement = false;
  int shift = 0;
  int32_t restart = 0;  // units between two markers
};

// Decodes the entropy-coded data of a scan, and sets `*at` to its end. Returns false if the data
// are damaged.
bool DecodeScan(const JpegFrame& frame, const JpegScan& scan, const uint8_t** at,
                const uint8_t* end);

// The samples of a block: 8 rows of 8, `stride` bytes apart.
void InverseTransform(const int16_t* block, const uint16_t* quantization, uint8_t* samples,
                      size_t stride);

// The position of the coefficient that is the i-th one of a file.
extern const uint8_t kZigzag[kBlock];

// Makes RGB pixels of the samples of all components. `rows`: three rows of bytes as wide as the
// picture.
void ConvertSamples(const JpegFrame& frame, bool is_rgb, uint8_t* const* rows, uint8_t* pixels);

}  // namespace trimtab

#endif  // TRIMTAB_APP_PICTURE_JPEG_H_
