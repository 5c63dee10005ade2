// Checks of the int8 kernels. Integer sums are exact, and requantization is one float32
// multiplication, rounded half to even: kernels must return exactly that.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_QUANTIZED_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_QUANTIZED_H_

#include "tests/kernels/check_i8.h"

namespace check {

class QuantizedCheck : I8Check {
 public:
  void Depthwise(void (*kernel)(const DepthwiseArgs<int8_t>&), size_t nr, Result* result) {
    const size_t all_channels[] = {1, 7, 4, 8, nr, nr + 1, 2 * nr, 3 * nr - 1, 40};
    for (size_t channels : all_channels) {
      const size_t all_windows[] = {1, 2, 3, 5, 7};
      for (size_t window : all_windows) {
        for (size_t step = 1; step <= 2; ++step) {
          const size_t lines[] = {1, 4, 69};
          for (size_t pixels : lines) {
            DepthwiseCase(kernel, {nr, channels, window, step, pixels, false}, result);
            DepthwiseCase(kernel, {nr, channels, window, step, pixels, true}, result);
          }
        }
      }
    }
  }

  void LookUp(void (*kernel)(const LookUpArgs<int8_t>&), Result* result) {
    int8_t table[256];
    Fill(table, 256, -128);
    const size_t lengths[] = {0, 1, 15, 16, 17, 64, 301};
    for (size_t n : lengths) {
      ++result->cases;
      int8_t *x = x_.Take(n), *y = y_.TakeOutput(n);
      Fill(x, n, -128);
      kernel({x, table, y, n});
      y_.CheckUntouched(y, 1, n, n, result, "table");
      for (size_t i = 0; i < n; ++i)
        result->Compare(y[i], table[static_cast<uint8_t>(x[i])], 0, "table");
    }
  }

  void Quantize(void (*kernel)(const QuantizeArgs<float>&), Result* result) {
    const size_t lengths[] = {0, 1, 7, 8, 9, 100};
    for (size_t n : lengths) {
      for (int turn = 0; turn < 8; ++turn) {
        ++result->cases;
        float* x = floats_.Take(n);
        random_.Fill(x, n, -200.0f, 200.0f);
        // Ties, which are exact, and values that saturate.
        for (size_t i = 0; i < n; i += 3) x[i] = static_cast<float>(random_.Below(400)) / 2 - 100;
        if (n > 5) x[4] = 1e30f, x[5] = -INFINITY;
        const float scale = turn % 2 == 0 ? 1.0f : random_.Uniform(0.1f, 3.0f);
        const bool is_signed = turn % 4 < 2;
        const int low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
        const int zero_point = low + static_cast<int>(random_.Below(256));
        int8_t* y = y_.TakeOutput(n);
        kernel({x, reinterpret_cast<uint8_t*>(y), n, scale, zero_point, low, high});
        y_.CheckUntouched(y, 1, n, n, result, "quantize");
        for (size_t i = 0; i < n; ++i) {
          const int found = is_signed ? y[i] : static_cast<uint8_t>(y[i]);
          const double place = nearbyintf(x[i] / scale);
          result->Compare(found, Clamp(place + zero_point, low, high), 0, "quantize");
        }
      }
    }
  }

  void MaxPool(void (*kernel)(const PoolArgs<int8_t>&), Result* result) {
    const size_t all_channels[] = {1, 15, 16, 17, 64, 81, 130};
    for (size_t channels : all_channels) {
      const size_t all_windows[] = {1, 2, 3};
      for (size_t window : all_windows) {
        ++result->cases;
        const size_t pixels = 5, step = window == 3 ? 2 : window;
        const size_t count = ((pixels - 1) * step + window) * window;
        int8_t* x = x_.Take(count * channels);
        Fill(x, count * channels, -128);
        for (size_t i = 0; i < count; ++i) pointers_[i] = x + i * channels;
        const size_t stride = channels + 3;
        int8_t* y = y_.TakeOutput((pixels - 1) * stride + channels);
        kernel({pointers_, nullptr, y, window, window, step, pixels, channels, stride});
        y_.CheckUntouched(y, pixels, channels, stride, result, "max_pool");
        for (size_t p = 0; p < pixels; ++p) {
          for (size_t c = 0; c < channels; ++c) {
            int most = -128;
            for (size_t t = 0; t < window * window; ++t) {
              const int value = pointers_[p * step * window + t][c];
              most = value > most ? value : most;
            }
            result->Compare(y[p * stride + c], most, 0, "max_pool");
          }
        }
      }
    }
  }

  void Add(void (*kernel)(const QlinearAddArgs<int8_t>&), Result* result) {
    const size_t lengths[] = {0, 1, 15, 16, 33, 200};
    for (size_t n : lengths) {
      ++result->cases;
      int8_t *a = x_.Take(n), *b = w_.Take(n), *y = y_.TakeOutput(n);
      Fill(a, n, -128);
      Fill(b, n, -128);
      const float a_scale = random_.Uniform(0.1f, 2), b_scale = random_.Uniform(0.1f, 2);
      const float offset = random_.Uniform(-30, 30);
      kernel({a, b, y, n, a_scale, b_scale, offset, -100, 90});
      y_.CheckUntouched(y, 1, n, n, result, "add");
      for (size_t i = 0; i < n; ++i) {
        const float sum = fmaf(a[i], a_scale, fmaf(b[i], b_scale, offset));
        result->Compare(y[i], Clamp(nearbyintf(sum), -100, 90), 0, "add");
      }
    }
  }

  void Mean(void (*kernel)(const QlinearMeanArgs<int8_t>&), Result* result) {
    const size_t all_channels[] = {1, 15, 16, 17, 50, 64, 200};
    for (size_t channels : all_channels) {
      const size_t all_pixels[] = {0, 1, 49, 600};
      for (size_t pixels : all_pixels) {
        ++result->cases;
        const size_t stride = channels + 2;
        const size_t count = pixels == 0 ? 0 : (pixels - 1) * stride + channels;
        int8_t *x = x_.Take(count), *y = y_.TakeOutput(channels);
        Fill(x, count, -128);
        const float scale = random_.Uniform(0.5f, 1.5f) / static_cast<float>(pixels + 1);
        int32_t start[256], sums[256];
        for (int32_t& number : start) number = static_cast<int32_t>(random_.Below(2000)) - 1000;
        QlinearMeanArgs<int8_t> args = {x,      start, nullptr, y,    pixels, channels,
                                        stride, scale, 3,       -128, 120};
        kernel(args);
        y_.CheckUntouched(y, 1, channels, channels, result, "mean");
        args.sums = sums;
        args.y = nullptr;
        kernel(args);
        for (size_t c = 0; c < channels; ++c) {
          int64_t sum = start[c];
          for (size_t i = 0; i < pixels; ++i) sum += x[i * stride + c];
          result->Compare(y[c], Requantized(sum, scale, 3, -128, 120), 0, "mean");
          result->Compare(sums[c], static_cast<double>(sum), 0, "sums of a mean");
        }
      }
    }
  }

  void Mul(void (*kernel)(const QlinearMulArgs<int8_t>&), Result* result) {
    const size_t lengths[] = {0, 1, 15, 16, 33, 200};
    for (size_t n : lengths) {
      ++result->cases;
      int8_t *a = x_.Take(n), *b = w_.Take(n), *y = y_.TakeOutput(n);
      FillExtremes(a, n, -128);
      FillExtremes(b, n, -128);
      const int a_point = static_cast<int>(random_.Below(256)) - 128;
      const int b_point = static_cast<int>(random_.Below(256)) - 128;
      const float scale = Scale(100);
      kernel({a, b, y, n, a_point, b_point, scale, -5, -100, 90});
      y_.CheckUntouched(y, 1, n, n, result, "mul");
      for (size_t i = 0; i < n; ++i) {
        const int64_t product = int64_t{a[i] - a_point} * (b[i] - b_point);
        result->Compare(y[i], Requantized(product, scale, -5, -100, 90), 0, "mul");
      }
    }
  }

  void AveragePool(void (*kernel)(const QlinearPoolArgs<int8_t>&), Result* result) {
    const size_t all_channels[] = {1, 15, 16, 17, 50};
    for (size_t channels : all_channels) {
      const size_t all_windows[] = {1, 2, 3,
                                    17};  // more taps than int8 values that 16 bits can sum up
      for (size_t window : all_windows) {
        ++result->cases;
        const size_t pixels = 4, step = window == 3 ? 2 : window, taps = window * window;
        const size_t count = ((pixels - 1) * step + window) * window;
        int8_t* x = x_.Take(count * channels);
        FillExtremes(x, count * channels, -128);
        for (size_t i = 0; i < count; ++i) pointers_[i] = x + i * channels;
        float scale[pixels];
        for (size_t p = 0; p < pixels; ++p) scale[p] = 1.0f / static_cast<float>(taps - p % taps);
        const size_t stride = channels + 3;
        int8_t* y = y_.TakeOutput((pixels - 1) * stride + channels);
        kernel({{pointers_, scale, y, window, window, step, pixels, channels, stride},
                21,
                3,
                -128,
                120});
        y_.CheckUntouched(y, pixels, channels, stride, result, "average_pool");
        for (size_t p = 0; p < pixels; ++p) {
          for (size_t c = 0; c < channels; ++c) {
            int64_t sum = 21;
            for (size_t t = 0; t < taps; ++t) sum += pointers_[p * step * window + t][c];
            const double want = Requantized(sum, scale[p], 3, -128, 120);
            result->Compare(y[p * stride + c], want, 0, "average_pool");
          }
        }
      }
    }
  }

 private:
  // An image's consecutive lines, where padding replaces the first line and as many columns at the
  // ends of the others as it does under a window.
  void PointIntoImage(const int8_t* x, size_t count, size_t column, size_t window,
                      size_t channels) {
    const size_t columns = count / column, margin = (window - 1) / 2;
    const int8_t* const padding = x + (count - 1) * channels;
    for (size_t c = 0; c < columns; ++c) {
      const bool is_inside = c >= margin && c + margin < columns;
      for (size_t i = 0; i < column; ++i) {
        const bool is_padding = !is_inside || (i == 0 && window > 1);
        pointers_[c * column + i] = is_padding ? padding : x + (i * columns + c) * channels;
      }
    }
  }

  struct DepthwiseSizes {
    size_t nr, channels, window, step, pixels;
    bool is_image;  // contiguous between padding, as are results
  };

  void DepthwiseCase(void (*kernel)(const DepthwiseArgs<int8_t>&), const DepthwiseSizes& sizes,
                     Result* result) {
    const auto [nr, channels, window, step, pixels, is_image] = sizes;
    ++result->cases;
    const size_t tiles = (channels + nr - 1) / nr, taps = window * window, rows = 2;
    int8_t* w = w_.Take(tiles * taps * nr);
    FillExtremes(w, tiles * taps * nr, -127);
    auto* bias = reinterpret_cast<int32_t*>(bias_.Take(channels));
    float* scale = scale_.Take(channels);
    const float* slope = slopes_.Take(channels, &random_);
    for (size_t c = 0; c < channels; ++c) {
      bias[c] = static_cast<int32_t>(random_.Below(2000)) - 1000;
      scale[c] = Scale(taps);
    }
    const size_t column = (rows - 1) * step + window;
    const size_t count = ((pixels - 1) * step + window) * column;
    int8_t* x = x_.Take(count * channels);
    FillExtremes(x, count * channels, -128);
    for (size_t i = 0; i < count; ++i) pointers_[i] = x + i * channels;
    if (is_image) PointIntoImage(x, count, column, window, channels);
    const size_t stride = channels + (is_image ? 0 : 1), row_stride = pixels * stride;
    int8_t* y = y_.TakeOutput((rows * pixels - 1) * stride + channels);
    kernel({pointers_,  w,      bias,   scale,    slope,
            y,          window, window, column,   step,
            step,       rows,   pixels, channels, stride,
            row_stride, -7,     -90,    127,      static_cast<uint16_t>(nr)});
    char place[120];
    snprintf(place, sizeof(place),
             "tile %zu, channels %zu, window %zu, step %zu, pixels %zu, image %d", nr, channels,
             window, step, pixels, is_image);
    y_.CheckUntouched(y, rows * pixels, channels, stride, result, place);
    const size_t last = channels < nr ? 0 : channels - nr;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t p = 0; p < pixels; ++p) {
        for (size_t c = 0; c < channels; ++c) {
          // Channels of the last tile are also in the previous one: the last value written counts.
          const size_t tile = c >= last ? tiles - 1 : c / nr;
          const size_t lane = c - (tile * nr < last ? tile * nr : last);
          int64_t sum = bias[c];
          for (size_t i = 0; i < window; ++i) {
            for (size_t j = 0; j < window; ++j) {
              const int8_t* pixel = pointers_[(p * step + j) * column + r * step + i];
              sum += pixel[c] * w[(tile * taps + i * window + j) * nr + lane];
            }
          }
          result->Compare(y[r * row_stride + p * stride + c],
                          Requantized(sum, scale[c], -7, -90, 127, slopes_[c]), 0, place);
        }
      }
    }
  }
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_QUANTIZED_H_
