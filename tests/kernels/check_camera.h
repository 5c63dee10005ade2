// Checks of rows of pixels. Channels that are sums are whole numbers: near a half, either neighbor
// is right, so that a row has the tolerance of one step where a channel of a tap is near one.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_CAMERA_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_CAMERA_H_

#include "tests/kernels/check_products.h"

namespace check {

class CameraRowCheck {
 public:
  void Run(void (*kernel)(const CameraRowArgs<uint8_t>&), Result* result) {
    const size_t lengths[] = {0, kCameraUnit, 3 * kCameraUnit, 9 * kCameraUnit, 17 * kCameraUnit};
    const CameraColors kinds[] = {kCameraBytes, kCameraYuv, kCameraSum};
    for (CameraColors colors : kinds) {
      for (size_t n : lengths) {
        for (size_t taps = 1; taps <= 5; ++taps) {
          for (int kind = 0; kind < 96; ++kind) RunCase(kernel, colors, n, taps, kind, result);
        }
      }
    }
  }

 private:
  void RunCase(void (*kernel)(const CameraRowArgs<uint8_t>&), CameraColors colors, size_t n,
               size_t taps, int kind, Result* result) {
    const bool is_in_turn = kind / 4 % 2 > 0;
    if (is_in_turn && colors == kCameraSum) return;
    ++result->cases;
    const size_t channels = colors == kCameraSum ? 1 : 3;
    CameraRowArgs<uint8_t> args = {};
    const uint32_t* const x = TakePixels(taps, n, kind / 8, &args);
    float* const w = w_.Take(taps * n);
    random_.Fill(w, taps * n, -0.5f, 1.0f);
    args.w = w;
    args.n = n;
    args.taps = taps;
    args.colors = colors;
    args.black = 16;
    random_.Fill(args.weight, 5, -1.5f, 1.5f);
    for (size_t c = 0; c < channels; ++c) {
      args.y[c] = y_[c].TakeOutput(n);
      random_.Fill(args.y[c], n);
      memcpy(before_[c].Take(n), args.y[c], n * sizeof(float));
      args.factor[c] = random_.Uniform(0.1f, 2.0f);
      args.base[c] = random_.Uniform(-2.0f, 2.0f);
    }
    args.is_first = kind % 2 > 0;
    args.reverses = kind / 2 % 2 > 0;
    if (is_in_turn) args.z = z_.TakeOutput(3 * n);
    kernel(args);
    char place[60];
    snprintf(place, sizeof(place), "colors %d, n %zu, taps %zu, %d", colors, n, taps, kind);
    if (is_in_turn) z_.CheckUntouched(args.z, 1, 3 * n, 3 * n, result, place);
    for (size_t c = 0; c < channels; ++c) {
      y_[c].CheckUntouched(args.y[c], 1, n, n, result, place);
      if (is_in_turn && n > 0 && memcmp(args.y[c], before_[c].Take(n), n * sizeof(float)) != 0)
        result->Compare(1, 0, 0, "y changed beside z");
      for (size_t i = 0; i < n; ++i) {
        double sum = 0, size = 0, half = 0;
        for (size_t t = 0; t < taps; ++t) {
          const double weight = static_cast<double>(w[t * n + i]);
          bool is_near = false;
          const double value = Channel(args, x[t * n + i], c, &is_near);
          sum += weight * value;
          size += fabs(weight) * value;
          half += is_near ? fabs(weight) : 0;
        }
        const double factor = static_cast<double>(args.factor[c]);
        const float* const y =
            is_in_turn ? args.z + 3 * i + (args.reverses ? 2 - c : c) : args.y[c] + i;
        const double was =
            static_cast<double>(args.is_first ? args.base[c] : before_[c].Take(n)[i]);
        const double allowed = Gamma<float>(taps + 2) * (factor * size + fabs(was));
        result->Compare(*y, was + factor * sum, allowed + factor * half, place);
      }
    }
  }

  // Random pixels, and their words. Those of a tap are up to 2, 80 or 6 bytes apart (`kind` / 4), in
  // three rows or, each beside the last, in one (`kind` % 2), from its begin or its end on.
  const uint32_t* TakePixels(size_t taps, size_t n, int kind, CameraRowArgs<uint8_t>* args) {
    const size_t steps[] = {1, 40, 3}, step = steps[kind / 4], count = taps * n;
    const bool are_apart = kind % 2 > 0, is_falling = kind / 2 % 2 > 0;
    const size_t size = (2 * n + 1) * step + (are_apart ? 0 : 2);
    const size_t all = are_apart ? 3 * size : size;
    uint8_t* const bytes = random_.Below(2) == 0 ? bytes_.Take(all) : bytes_.TakeFirst(all);
    for (size_t i = 0; i < all; ++i) bytes[i] = static_cast<uint8_t>(random_.Below(256));
    for (size_t i = 0; i < 3; ++i) args->rows[i] = bytes + i * (are_apart ? size : 1);
    int32_t* const offsets = offsets_.Take(2 * count);
    uint32_t* const words = expected_.Take(count);
    for (size_t k = 0; k < 2; ++k) {
      for (size_t i = 0, place = 0; i < count; ++i) {
        place = i % n == 0 ? random_.Below(2) : place + random_.Below(3);
        place = place < 2 * n ? place : 2 * n;
        const size_t at = is_falling ? 2 * n - place : place;
        offsets[k * count + i] = static_cast<int32_t>(at * step);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      words[i] = 0;
      for (size_t k = 0; k < 3; ++k) {
        const uint8_t byte = args->rows[k][offsets[(k > 0 ? count : 0) + i]];
        words[i] |= static_cast<uint32_t>(byte) << (8 * k);
      }
    }
    args->offsets[0] = offsets;
    args->offsets[1] = offsets + count;
    args->words = words_.TakeOutput(count);
    return words;
  }

  // A channel of a pixel, and whether it is near the middle of two whole numbers.
  static double Channel(const CameraRowArgs<uint8_t>& args, uint32_t word, size_t c,
                        bool* is_near) {
    double byte[3], weight[5];
    for (size_t i = 0; i < 3; ++i) byte[i] = (word >> (8 * i)) & 0xff;
    for (size_t i = 0; i < 5; ++i) weight[i] = static_cast<double>(args.weight[i]);
    if (args.colors == kCameraBytes) return byte[c];
    const double above = byte[0] - static_cast<double>(args.black);
    const double luma = weight[0] * (above > 0 ? above : 0);
    const double blue = byte[1] - 128, red = byte[2] - 128;
    double value = luma + weight[1] * byte[1] + weight[2] * byte[2];
    if (args.colors == kCameraYuv) {
      const double channels[] = {weight[1] * red, weight[2] * blue + weight[3] * red,
                                 weight[4] * blue};
      value = luma + channels[c];
    }
    *is_near = fabs(value - floor(value) - 0.5) < 1e-4;
    return Clamp(nearbyint(value), 0, 255);
  }

  Guarded<uint8_t> bytes_;
  Guarded<int32_t> offsets_;
  Guarded<uint32_t> expected_, words_;
  Guarded<float> w_, y_[3], z_, before_[3];
  Random random_;
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_CAMERA_H_
