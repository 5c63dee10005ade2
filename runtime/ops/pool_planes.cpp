#include "runtime/ops/pool_planes.h"

#include "generated/attributes/average_pool_planes.h"
#include "runtime/core/copy.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/mean_window.h"

namespace trimtab {

static_assert(sizeof(MaxPoolPlanesAttributes) == sizeof(AveragePoolPlanesAttributes),
              "the attributes are those of shared/planes.toml");

namespace {

constexpr size_t kRows = 16;  // that are computed at once, in a first-level cache

// Pixels of a row of a plane, for MeanWindow.
struct Row {
  size_t row, x, pixels;
};

}  // namespace

Status PoolPlanes::InferShape() {
  const Tensor& x = input(0);
  TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
  TRIMTAB_RETURN_IF_ERROR(ReadWindow(attributes().kernel_shape[0], attributes().kernel_shape[1],
                                     attributes().strides, attributes().pads,
                                     attributes().dilations, &window_));
  Dims& y = output().dims;
  y = x.dims;
  return WindowOutput(window_, x, attributes().ceil_mode, &y[2], &y[3]);
}

Status PoolPlanes::Prepare() {
  const int64_t read = int64_t{output().w() - 1} * window_.stride_w + window_.extent_w();
  const int64_t padded = int64_t{input(0).w()} + window_.pad_left;
  line_ = static_cast<size_t>(read > padded ? read : padded);
  const uint64_t elements = 2 * kRows * uint64_t{line_} + static_cast<uint64_t>(output().w());
  TRIMTAB_RETURN_IF_ERROR(
      RequestScratch(elements * sizeof(float) * static_cast<uint64_t>(threads())));
  return is_mean_ ? Bind<NameHash("add")>(attributes().kernel, &kernel_)
                  : Bind<NameHash("max")>(attributes().kernel, &kernel_);
}

void PoolPlanes::CombineLines(const float* x, int32_t row, size_t rows, TapRange used,
                              float* lines) const {
  const auto w = static_cast<size_t>(input(0).w());
  const int32_t top = row * window_.stride_h - window_.pad_top;
  const size_t step = static_cast<size_t>(window_.stride_h) * w;
  const size_t down = static_cast<size_t>(window_.dilation_h) * w;
  float* const to = lines + window_.pad_left;
  if (used.begin >= used.end) {
    for (size_t i = 0; i < w; ++i) to[i] = is_mean_ ? 0.0f : -__builtin_inff();
    return;
  }
  x += static_cast<size_t>(top + used.begin * window_.dilation_h) * w;
  if (used.end - used.begin == 1) {
    for (size_t i = 0; i < rows; ++i) Copy(to + i * line_, x + i * step, w * sizeof(*to));
    return;
  }
  const bool is_run = step == line_;  // neighboring lines
  const size_t n = is_run ? rows * w : w, count = is_run ? 1 : rows;
  kernel_({x, x + down, to, n, count, step, step, line_, 1, 1});
  for (int32_t i = used.begin + 2; i < used.end; ++i)
    kernel_({to, x + static_cast<size_t>(i - used.begin) * down, to, n, count, line_, step, line_,
             1, 1});
}

void PoolPlanes::CombineColumns(const float* lines, size_t rows, float* sums, float* y) const {
  const auto width = static_cast<size_t>(output().w());
  const auto stride = static_cast<size_t>(window_.stride_w);
  const size_t all = (rows - 1) * line_ + (width - 1) * stride + 1;  // of all columns
  const float* left = lines;
  for (int32_t j = 1; j < window_.kernel_w; ++j, left = sums) {
    const float* const right = lines + static_cast<size_t>(j) * window_.dilation_w;
    if (stride == 1 && j + 1 == window_.kernel_w)
      return kernel_({left, right, y, width, rows, line_, line_, width, 1, 1});
    kernel_({left, right, sums, all, 1, 0, 0, 0, 1, 1});
  }
  for (size_t row = 0; row < rows; ++row, left += line_, y += width) {
    if (stride == 2) {
      for (size_t i = 0; i < width; ++i) y[i] = left[2 * i];
    } else {
      for (size_t i = 0; i < width; ++i) y[i] = left[i * stride];
    }
  }
}

void PoolPlanes::Run(ThreadPool& pool) {
  const Tensor &x = input(0), &y = output();
  const auto width = static_cast<size_t>(y.w());
  const MeanWindow counts(window_, x, y, attributes().count_include_pad);
  const size_t planes = static_cast<size_t>(x.n()) * static_cast<size_t>(x.c());
  const auto taps = static_cast<size_t>(window_.kernel_h + window_.kernel_w);
  // The last row whose taps all lie inside of the image.
  const int32_t bottom = (x.h() + window_.pad_top - window_.extent_h()) / window_.stride_h;
  const size_t cost = static_cast<size_t>(y.h()) * line_ * taps;
  pool.For(planes, cost, [&](size_t begin, size_t end, int thread) {
    float* const lines =
        scratch<float>() + static_cast<size_t>(thread) * (2 * kRows * line_ + width);
    float* const sums = lines + kRows * line_;
    float* const scale = sums + kRows * line_;
    for (size_t i = 0; i < kRows * line_; ++i) lines[i] = is_mean_ ? 0.0f : -__builtin_inff();
    TapRange scaled = {-1, -1};  // the taps of a column that `scale` counts
    for (size_t plane = begin; plane < end; ++plane) {
      const float* const from = data<float>(0) + plane * static_cast<size_t>(x.h() * x.w());
      float* to = result<float>() + plane * static_cast<size_t>(y.h()) * width;
      for (int32_t row = 0; row < y.h();) {
        const int32_t top = row * window_.stride_h - window_.pad_top;
        const TapRange used = TapsInside(window_.kernel_h, top, window_.dilation_h, x.h());
        const bool is_inside = used.end - used.begin == window_.kernel_h;
        const int32_t last = bottom < y.h() ? bottom : y.h() - 1;
        const size_t rows = is_inside ? Min(static_cast<size_t>(last - row) + 1, kRows) : 1;
        CombineLines(from, row, rows, used, lines);
        CombineColumns(lines, rows, sums, to);
        if (is_mean_ && (used.begin != scaled.begin || used.end != scaled.end)) {
          counts.Scales(Row{static_cast<size_t>(row), 0, width}, 1.0f, scale);
          scaled = used;
        }
        for (size_t i = 0; is_mean_ && i < rows * width; i += width) {
          for (size_t c = 0; c < width; ++c) to[i + c] *= scale[c];
        }
        row += static_cast<int32_t>(rows);
        to += rows * width;
      }
    }
  });
}

}  // namespace trimtab
