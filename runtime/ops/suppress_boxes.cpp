#include "generated/attributes/suppress_boxes.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/ops/boxes_output.h"

namespace trimtab {
namespace {

// A rotated box as a normal distribution: the mean, and the covariance (a, c; c, b).
struct Gaussian {
  float x, y, a, b, c;
};

Gaussian GaussianOf(const Box& box, float angle) {
  const float w = box.xmax - box.xmin, h = box.ymax - box.ymin;
  const float across = w * w / 12.0f, down = h * h / 12.0f, cosine = cosf(angle),
              sine = sinf(angle);
  return {0.5f * (box.xmin + box.xmax), 0.5f * (box.ymin + box.ymax),
          across * cosine * cosine + down * sine * sine,
          across * sine * sine + down * cosine * cosine, (across - down) * cosine * sine};
}

// The Bhattacharyya distance from which on two distributions are surely less similar than
// `threshold`.
float FarDistance(float threshold) {
  constexpr float kMargin = 1e-3f;
  const float affinity = 1.0f - (1.0f - threshold) * (1.0f - threshold);
  return affinity > 0.0f ? kMargin - logf(affinity) : INFINITY;
}

// Whether 1 - the Hellinger distance of both (ProbIoU) is at least `threshold`, with the small
// numbers of Ultralytics. `far`: FarDistance of it.
bool AreSimilar(const Gaussian& p, const Gaussian& q, float threshold, float far) {
  constexpr float kSmall = 1e-7f, kLargest = 100.0f;
  const float a = p.a + q.a, b = p.b + q.b, c = p.c + q.c, x = q.x - p.x, y = p.y - q.y;
  const float determinant = a * b - c * c;
  const float near = (0.25f * (a * y * y + b * x * x) + 0.5f * c * x * y) / (determinant + kSmall);
  if (near > far) return false;  // most pairs: the difference of shapes is positive, too
  const float areas = fmaxf(p.a * p.b - p.c * p.c, 0.0f) * fmaxf(q.a * q.b - q.c * q.c, 0.0f);
  const float shape = 0.5f * logf(determinant / (4.0f * sqrtf(areas) + kSmall) + kSmall);
  const float distance = fminf(fmaxf(near + shape, kSmall), kLargest);
  return !(1.0f - sqrtf(1.0f - expf(-distance) + kSmall) < threshold);
}

class SuppressBoxes final : public OperatorOf<SuppressBoxesAttributes> {
 public:
  // Single-threaded: there are few boxes.
  void Run(ThreadPool&) override {
    const Dims& from = input(0).dims;
    const auto candidates = static_cast<size_t>(from[1]);
    const auto rows = static_cast<size_t>(output(0).dims[1]);
    const auto* boxes = static_cast<const ScoredBox*>(input(0).raw);
    const int32_t* indices = data<int32_t>(2);
    auto* y = static_cast<ScoredBox*>(output(0).raw);
    int32_t* numbers = result<int32_t>(2);
    for (int32_t image = 0; image < from[0]; ++image) {
      // The count is data: it may be any number.
      const int32_t count = data<int32_t>(1)[image];
      const size_t used = count < 0 ? 0 : static_cast<size_t>(count);
      const size_t count_in = used < candidates ? used : candidates;
      const size_t kept =
          attributes().rotated
              ? SelectRotated(boxes, data<float>(3) + static_cast<size_t>(image) * candidates,
                              indices, count_in, y, numbers, rows)
              : Select(boxes, indices, count_in, y, numbers, rows);
      for (size_t i = 0; i < kept; ++i) Clip(&y[i].box);
      for (size_t i = kept; i < rows; ++i) {
        y[i] = ScoredBox{};
        numbers[i] = 0;
      }
      result<int32_t>(1)[image] = static_cast<int32_t>(kept);
      boxes += candidates;
      indices += candidates;
      y += rows;
      numbers += rows;
    }
  }

 protected:
  Status InferShape() override {
    const Dims &boxes = input(0).dims, &counts = input(1).dims, &indices = input(2).dims;
    TRIMTAB_CHECK(boxes.rank == 3 && boxes[2] == kBoxValues, "boxes must be [n, m, 6] (rank)",
                  boxes.rank);
    TRIMTAB_CHECK(counts.rank == 1 && counts[0] == boxes[0], "counts must be [n] (rank)",
                  counts.rank);
    TRIMTAB_CHECK(indices.rank == 2 && indices[0] == boxes[0] && indices[1] == boxes[1],
                  "indices must be [n, m] (rank)", indices.rank);
    TRIMTAB_CHECK(input(1).dtype == DType::kI32 && input(2).dtype == DType::kI32,
                  "counts and indices must be i32");
    const int64_t limit = attributes().max_boxes, per_class = attributes().max_per_class;
    TRIMTAB_CHECK(limit >= 1, "max_boxes is out of range", limit);
    TRIMTAB_CHECK(per_class == -1 || per_class >= 1, "max_per_class is out of range", per_class);
    TRIMTAB_CHECK(attributes().rotated == has_input(3), "rotated needs angles (inputs)",
                  input_count());
    if (attributes().rotated) {
      const Dims& angles = input(3).dims;
      TRIMTAB_CHECK(angles.rank == 3 && angles[0] == boxes[0] && angles[1] == boxes[1] &&
                        angles[2] == 1 && input(3).dtype == DType::kF32,
                    "angles must be f32[n, m, 1] (rank)", angles.rank);
      TRIMTAB_CHECK(per_class == -1, "rotated boxes have no max_per_class", per_class);
    }
    SetBoxOutputs(&output(0), &output(1), &output(2), boxes[0],
                  limit < boxes[1] ? limit : boxes[1]);
    return Status();
  }
  Status Prepare() override {
    const auto candidates = static_cast<uint64_t>(input(0).dims[1]);
    return attributes().rotated ? RequestScratch(candidates * sizeof(Gaussian)) : Status();
  }

 private:
  // Copies the boxes that no better one suppresses; returns their number.
  size_t Select(const ScoredBox* boxes, const int32_t* indices, size_t count, ScoredBox* y,
                int32_t* numbers, size_t rows) const {
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < rows; ++i) {
      if (IsSuppressed(boxes[i], y, kept)) continue;
      y[kept] = boxes[i];
      numbers[kept++] = indices[i];
    }
    return kept;
  }

  size_t SelectRotated(const ScoredBox* boxes, const float* angles, const int32_t* indices,
                       size_t count, ScoredBox* y, int32_t* numbers, size_t rows) const {
    auto* const gaussians = scratch<Gaussian>();
    const float threshold = attributes().iou_threshold, far = FarDistance(threshold);
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < rows; ++i) {
      gaussians[i] = GaussianOf(boxes[i].box, angles[i]);
      bool is_dropped = false;
      for (size_t j = 0; j < i && !is_dropped; ++j) {
        is_dropped = (attributes().class_agnostic || boxes[j].label == boxes[i].label) &&
                     AreSimilar(gaussians[j], gaussians[i], threshold, far);
      }
      if (is_dropped) continue;
      y[kept] = boxes[i];
      numbers[kept++] = indices[i];
    }
    return kept;
  }

  bool IsSuppressed(const ScoredBox& box, const ScoredBox* kept, size_t count) const {
    int64_t same = 0;
    for (size_t i = 0; i < count; ++i) {
      const bool is_same = kept[i].label == box.label;
      if ((is_same || attributes().class_agnostic) &&
          !(Overlap(box.box, kept[i].box) <= attributes().iou_threshold))
        return true;
      same += is_same ? 1 : 0;
    }
    return attributes().max_per_class > 0 && same >= attributes().max_per_class;
  }

  void Clip(Box* box) const {
    const float w = attributes().frame[0], h = attributes().frame[1];
    if (w > 0.0f) {
      box->xmin = fminf(fmaxf(box->xmin, 0.0f), w);
      box->xmax = fminf(fmaxf(box->xmax, 0.0f), w);
    }
    if (h > 0.0f) {
      box->ymin = fminf(fmaxf(box->ymin, 0.0f), h);
      box->ymax = fminf(fmaxf(box->ymax, 0.0f), h);
    }
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(SuppressBoxes)
