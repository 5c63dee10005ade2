// The contract of the kernels that resample a row of a camera's frame.
#ifndef TRIMTAB_KERNELS_CAMERA_ROW_H_
#define TRIMTAB_KERNELS_CAMERA_ROW_H_

#include <stddef.h>
#include <stdint.h>

// The number of pixels of a row is padded to a multiple of this, which is one of every vector.
enum { kCameraUnit = 16 };

// How a pixel's bytes become channels.
enum CameraColors : uint8_t {
  kCameraBytes,  // they are its three channels
  kCameraYuv,    // three channels from luma and chroma
  kCameraSum,    // one channel, a weighted sum of the bytes
};

// Adds one row of pixels to the channels of a row of the result, for n pixels, a multiple of
// kCameraUnit:
//
//   y[c][i] += factor[c] * sum over t < taps of w[t * n + i] * channel c of pixel t * n + i
//
// The bytes of pixel k are rows[0][offsets[0][k]], rows[1][offsets[1][k]], rows[2][offsets[1][k]].
// The offsets of a tap rise or fall from pixel to pixel, or stay; all bytes of a row between the
// first and the last of a tap may be read. A kernel may write a pixel's bytes to words[k], byte 0
// being the lowest.
//
// The first row of several begins with base[c] in place of y[c][i] (`is_first`). The last may have
// z: the results go there and not to y, the three channels of a pixel in turn, from the last one on
// if it `reverses` them.
//
// With `colors` of kCameraYuv or kCameraSum, channels are rounded to whole numbers, half to even,
// and limited to [0, 255]; with b0 = max(byte 0 - black, 0) and b1, b2 = bytes 1 and 2, minus 128:
//
//   kCameraYuv   v0 = weight[0] b0 + weight[1] b2
//                v1 = weight[0] b0 + weight[2] b1 + weight[3] b2
//                v2 = weight[0] b0 + weight[4] b1
//   kCameraSum   v0 = weight[0] b0 + weight[1] byte 1 + weight[2] byte 2; y[1], y[2] are not used
template <typename T>
struct CameraRowArgs {
  const uint8_t* rows[3];
  const int32_t* offsets[2];
  uint32_t* words;
  const float* w;
  float* y[3];
  float* z;
  size_t n, taps;
  float factor[3], base[3];
  float black;
  float weight[5];
  CameraColors colors;
  bool is_first, reverses;
};

#endif  // TRIMTAB_KERNELS_CAMERA_ROW_H_
