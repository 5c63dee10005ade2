#include "generated/attributes/yolo_box.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/boxes.h"

namespace trimtab {
namespace {

constexpr int64_t kFirstClass = 5;  // after x, y, width, height, objectness

class YoloBox final : public OperatorOf<YoloBoxAttributes> {
 public:
  Status InferShape() override;
  void Run(ThreadPool& pool) override;

 private:
  void Decode(size_t pixel, size_t anchor) const;
  int64_t ImageSize(size_t i) const;

  size_t anchors_ = 0;
  size_t classes_ = 0;
};

Status YoloBox::InferShape() {
  const YoloBoxAttributes& a = attributes();
  const Tensor& x = input(0);
  const Dims& sizes = input(1).dims;
  TRIMTAB_CHECK(x.dims.rank == 4, "the input must be [n, c, h, w] (rank)", x.dims.rank);
  TRIMTAB_CHECK(sizes.rank == 2 && sizes[0] == x.n() && sizes[1] == 2,
                "image_sizes must be [n, 2] (rank)", sizes.rank);
  TRIMTAB_CHECK(a.anchors.size >= 2 && a.anchors.size % 2 == 0 && a.anchors.size <= INT16_MAX,
                "anchors must be pairs", a.anchors.size);
  TRIMTAB_CHECK(a.classes >= 1 && a.classes <= INT16_MAX, "classes are out of range", a.classes);
  TRIMTAB_CHECK(a.stride >= 1 && a.stride <= INT16_MAX, "stride is out of range", a.stride);
  const int64_t anchors = a.anchors.size / 2;
  const int64_t values = kFirstClass + a.classes + (a.iou_aware ? 1 : 0);
  TRIMTAB_CHECK(x.c() == anchors * values, "the channels do not fit (expected, actual)",
                anchors * values, x.c());
  const int64_t boxes = int64_t{x.h()} * x.w() * anchors;
  TRIMTAB_CHECK(x.h() > 0 && x.w() > 0 && boxes <= INT32_MAX, "illegal number of boxes", boxes);
  anchors_ = static_cast<size_t>(anchors);
  classes_ = static_cast<size_t>(a.classes);
  for (int i = 0; i < 2; ++i) {
    Dims& y = output(i).dims;
    y.rank = 3;
    y[0] = x.n();
    y[1] = static_cast<int32_t>(boxes);
    y[2] = i == 0 ? 4 : static_cast<int32_t>(a.classes);
    output(i).layout = Layout::kPlain;  // the input's layout is for four dimensions
  }
  return Status();
}

float Sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

int64_t YoloBox::ImageSize(size_t i) const {
  const Tensor& sizes = input(1);
  return sizes.dtype == DType::kI64 ? sizes.data<int64_t>()[i] : sizes.data<int32_t>()[i];
}

// Computes box and scores of an anchor; `pixel` counts over all images.
void YoloBox::Decode(size_t pixel, size_t anchor) const {
  const YoloBoxAttributes& a = attributes();
  const Tensor& input_x = input(0);
  const auto h = static_cast<size_t>(input_x.h()), w = static_cast<size_t>(input_x.w());
  const size_t image = pixel / (h * w), place = pixel % (h * w);
  const float* const channels = input_x.data<float>() + pixel * static_cast<size_t>(input_x.c());
  const float* const x =
      channels + (a.iou_aware ? anchors_ : 0) + anchor * (kFirstClass + classes_);
  const size_t row = (image * anchors_ + anchor) * h * w + place;
  Box& box = static_cast<Box*>(output(0).raw)[row];
  float* const scores = output(1).data<float>() + row * classes_;

  float objectness = Sigmoid(x[4]);
  if (a.iou_aware) {
    objectness = powf(objectness, 1.0f - a.iou_aware_factor) *
                 powf(Sigmoid(channels[anchor]), a.iou_aware_factor);
  }
  if (objectness < a.threshold) {
    box = {0.0f, 0.0f, 0.0f, 0.0f};
    for (size_t i = 0; i < classes_; ++i) scores[i] = 0.0f;
    return;
  }
  const auto image_h = static_cast<float>(ImageSize(2 * image));
  const auto image_w = static_cast<float>(ImageSize(2 * image + 1));
  const float cells_h = static_cast<float>(h), cells_w = static_cast<float>(w);
  const float shift = -0.5f * (a.scale - 1.0f);
  const float cx = (static_cast<float>(place % w) + Sigmoid(x[0]) * a.scale + shift) / cells_w;
  // NOLINTNEXTLINE(bugprone-integer-division): the number of the row is whole
  const float cy = (static_cast<float>(place / w) + Sigmoid(x[1]) * a.scale + shift) / cells_h;
  const auto stride = static_cast<float>(a.stride);
  const float half_w = expf(x[2]) * a.anchors[2 * anchor] / (stride * cells_w) * 0.5f;
  const float half_h = expf(x[3]) * a.anchors[2 * anchor + 1] / (stride * cells_h) * 0.5f;
  box = {(cx - half_w) * image_w, (cy - half_h) * image_h, (cx + half_w) * image_w,
         (cy + half_h) * image_h};
  if (a.clip) {
    box = {fmaxf(box.xmin, 0.0f), fmaxf(box.ymin, 0.0f), fminf(box.xmax, image_w - 1.0f),
           fminf(box.ymax, image_h - 1.0f)};
  }
  for (size_t i = 0; i < classes_; ++i) scores[i] = objectness * Sigmoid(x[kFirstClass + i]);
}

void YoloBox::Run(ThreadPool& pool) {
  const size_t rows = static_cast<size_t>(output(0).Count()) / 4;
  pool.For(rows, kFunctionCost * (kFirstClass + classes_), [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) Decode(i / anchors_, i % anchors_);
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(YoloBox)
