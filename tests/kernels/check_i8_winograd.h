// Checks of Winograd convolution of int8 values, which is exact: the input transform against the
// matrix of the points, products against 64-bit sums, and the output transform against the
// convolution itself, for transformed inputs and weights whose products overflow.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_I8_WINOGRAD_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_I8_WINOGRAD_H_

#include "kernels/kernel_api.h"
#include "tests/kernels/check_quantized.h"
#include "tests/kernels/check_winograd.h"

namespace check {

class I8WinogradCheck {
 public:
  void Input(void (*kernel)(const WinogradInputArgs<int8_t>&), Result* result) {
    const Matrix b = WinogradInputMatrix(kSize, 1);
    for (size_t channels : kWinogradChannels) {
      ++result->cases;
      const size_t stride = channels + random_.Below(3);
      int8_t* a = x_.Take(kElements * channels);
      for (size_t i = 0; i < kElements * channels; ++i) a[i] = Byte();
      const int8_t* pointers[kElements];
      for (size_t e = 0; e < kElements; ++e) pointers[e] = a + (e * 5 + 1) % kElements * channels;
      int16_t* y = shorts_.TakeOutput((kElements - 1) * stride + channels);
      kernel({pointers, y, channels, stride});
      shorts_.CheckUntouched(y, kElements, channels, stride, result, "input");
      for (size_t e = 0; e < kElements; ++e) {
        for (size_t c = 0; c < channels; ++c) {
          double size;
          const auto x = [&](size_t i) { return static_cast<double>(pointers[i][c]); };
          const double want = Transformed(b, e / kSize, e % kSize, x, &size);
          result->Compare(y[e * stride + c], want, 0, "input");
        }
      }
    }
  }

  void Product(void (*kernel)(const WinogradProductArgs<int8_t>&), size_t nr, size_t kr,
               Result* result) {
    for (size_t rows = 1; rows < 33; ++rows) {
      ++result->cases;
      const size_t k = (1 + random_.Below(9)) * kr, panels = 1 + random_.Below(3);
      const size_t columns = panels * nr, a_stride = k + random_.Below(3);
      const size_t c_stride = columns + random_.Below(3);
      int16_t* a = shorts_.Take((rows - 1) * a_stride + k);
      int16_t* w = weights_.Take(columns * k);
      for (size_t i = 0; i < (rows - 1) * a_stride + k; ++i) a[i] = Short(12800);
      for (size_t i = 0; i < columns * k; ++i) w[i] = Short(18432);
      int32_t* c = sums_.TakeOutput((rows - 1) * c_stride + columns);
      kernel({a, w, c, k, rows, columns, a_stride, c_stride, static_cast<uint16_t>(nr),
              static_cast<uint16_t>(kr)});
      char place[80];
      snprintf(place, sizeof(place), "rows %zu, columns %zu, k %zu", rows, columns, k);
      sums_.CheckUntouched(c, rows, columns, c_stride, result, place);
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
          int64_t sum = 0;
          for (size_t p = 0; p < k; ++p) {
            const size_t at = (p / kr * nr + j % nr) * kr + p % kr;
            sum += int64_t{a[i * a_stride + p]} * w[j / nr * nr * k + at];
          }
          result->Compare(c[i * c_stride + j], Wrapped(sum), 0, place);
        }
      }
    }
  }

  void Output(void (*kernel)(const WinogradOutputArgs<int8_t>&), Result* result) {
    for (size_t channels : kWinogradChannels) {
      for (size_t turn = 0; turn < kTile * kTile; ++turn)
        OutputCase(kernel, channels, turn / kTile + 1, turn % kTile + 1, result);
    }
  }

 private:
  static constexpr size_t kTile = 4, kSize = 6, kTaps = 3, kElements = kSize * kSize;
  static constexpr size_t kDepth = 150;  // 9 * 150 * 2^14 < 2^25

  static int32_t Wrapped(int64_t sum) {
    return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(sum)));
  }
  int8_t Byte() {
    const size_t kind = random_.Below(4);
    return static_cast<int8_t>(kind == 0 ? -128 : kind == 1 ? 127 : random_.Below(256));
  }
  int16_t Short(int most) {
    const int value = static_cast<int>(random_.Below(static_cast<size_t>(2 * most + 1))) - most;
    return static_cast<int16_t>(random_.Below(4) == 0 ? most : value);
  }

  // Products of a tile of one channel, [element], and the convolution that they belong to.
  void Convolve(int32_t* products, int64_t (*sums)[kTile]) {
    static const Matrix b = WinogradInputMatrix(kSize, 1);
    static const Matrix g = WinogradWeightsMatrix(kTile, kSize, 1);
    int64_t all[kElements] = {};
    memset(sums, 0, kTile * kTile * sizeof(int64_t));
    // Large depths for the largest sums; rarely, because the reference convolution is slow under an
    // emulator.
    const size_t depth = random_.Below(32) == 0 ? kDepth : 1 + random_.Below(8);
    for (size_t p = 0; p < depth; ++p) {
      int8_t x[kElements], w[kTaps * kTaps];
      for (int8_t& value : x) value = Byte();
      for (int8_t& value : w) value = Byte();
      for (size_t e = 0; e < kElements; ++e) {
        double size;
        const auto times = [](size_t row) { return row + 1 == kSize ? 6.0 : 24.0; };
        const double u = Transformed(
            g, e / kSize, e % kSize, [&](size_t i) { return static_cast<double>(w[i]); }, &size);
        const double v = Transformed(
            b, e / kSize, e % kSize, [&](size_t i) { return static_cast<double>(x[i]); }, &size);
        all[e] += llround(u * times(e / kSize) * times(e % kSize)) * llround(v);
      }
      for (size_t i = 0; i < kTile * kTile; ++i) {
        for (size_t t = 0; t < kTaps * kTaps; ++t) {
          const size_t row = i / kTile + t / kTaps, column = i % kTile + t % kTaps;
          sums[i / kTile][i % kTile] += x[row * kSize + column] * w[t];
        }
      }
    }
    for (size_t e = 0; e < kElements; ++e) products[e] = Wrapped(all[e]);
  }

  void OutputCase(void (*kernel)(const WinogradOutputArgs<int8_t>&), size_t channels, size_t rows,
                  size_t columns, Result* result) {
    ++result->cases;
    const size_t stride = channels + random_.Below(4);
    int32_t* x = sums_.Take((kElements - 1) * stride + channels);
    int32_t* bias = bias_.Take(channels);
    float* scale = scale_.Take(channels);
    static int64_t sums[64][kTile][kTile];
    for (size_t c = 0; c < channels; ++c) {
      int32_t products[kElements];
      Convolve(products, sums[c]);
      for (size_t e = 0; e < kElements; ++e) x[e * stride + c] = products[e];
      bias[c] = static_cast<int32_t>(random_.Below(20000)) - 10000;
      scale[c] = random_.Below(2) == 0 ? ldexpf(1, -14) : random_.Uniform(1e-5f, 1e-3f);
    }
    const size_t row_stride = columns * channels + 5, count = (rows - 1) * row_stride;
    int8_t* y = y_.TakeOutput(count + columns * channels);
    const int low = rows % 2 == 0 ? -20 : -128, high = columns % 2 == 0 ? 99 : 127;
    const float* slope = slopes_.Take(channels, &random_);
    kernel({x, bias, scale, slope, y, channels, stride, rows, columns, row_stride, channels, -5,
            low, high});
    char place[80];
    snprintf(place, sizeof(place), "channels %zu, rows %zu, columns %zu", channels, rows, columns);
    y_.CheckUntouched(y, rows, columns * channels, row_stride, result, place);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        for (size_t c = 0; c < channels; ++c) {
          const double want =
              Requantized(sums[c][i][j] + bias[c], scale[c], -5, low, high, slopes_[c]);
          result->Compare(y[i * row_stride + j * channels + c], want, 0, place);
        }
      }
    }
  }

  GuardedI8 x_, y_;
  Guarded<int16_t> shorts_, weights_;
  Guarded<int32_t> sums_, bias_;
  Guarded<float> scale_;
  Slopes slopes_;
  Random random_;
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_I8_WINOGRAD_H_
