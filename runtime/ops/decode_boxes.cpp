#include "generated/attributes/decode_boxes.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/ops/box_candidates.h"
#include "runtime/ops/boxes_output.h"
#include "runtime/ops/detector_head.h"

namespace trimtab {
namespace {

constexpr int32_t kMaxLevels = 8;
constexpr size_t kBlock = HeadTensor::kMaxLocations;
constexpr size_t kMaxBins = 64;
constexpr float kMargin = 1e-3f;  // for the rounding of a softmax

// The value of a level in a list that may be empty.
float PerLevel(const FloatList& list, int32_t level) {
  return list.size > 0 ? list[static_cast<size_t>(level)] : 1.0f;
}

// A grid of locations, with a number of anchors each.
struct Level {
  HeadTensor boxes, scores, objectness;
  int32_t locations;
  int32_t width;           // of the grid; 0: there is none
  int32_t first_location;  // in its tensors
  int32_t first_index;     // of its boxes among those of all levels
};

class DecodeBoxes final : public OperatorOf<DecodeBoxesAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override {
    for (int32_t i = 0; i < level_count_; ++i) {
      const Level& level = levels_[i];
      TRIMTAB_CHECK(
          level.boxes.has_scale() && level.scores.has_scale() && level.objectness.has_scale(),
          "an i8 tensor must have one scale (level)", i);
    }
    return RequestScratch(static_cast<uint64_t>(rows_) * sizeof(Candidate));
  }
  void Run(ThreadPool& pool) override;

 private:
  Status CheckAttributes() const;
  Status AddLevel(int32_t index, int32_t first_input, int32_t first_location, int64_t* boxes);
  Status CheckTensor(const HeadTensor& tensor, const HeadTensor& boxes, int64_t channels) const;
  bool HasPriors() const { return attributes().box == DecodeBoxesBox::kPrior; }
  bool HasAnchors() const {
    return attributes().box == DecodeBoxesBox::kExponential ||
           attributes().box == DecodeBoxesBox::kSquare;
  }

  // A value of a score, as the sigmoid of a raw value if the attributes say so.
  float Score(float value) const {
    return attributes().scores == DecodeBoxesScores::kSigmoid ? Sigmoid(value) : value;
  }
  size_t Collect(int32_t image, const Level& level, Candidate* heap, size_t count) const;
  size_t CollectLocation(int32_t image, const Level& level, size_t location, size_t anchor,
                         Candidate* heap, size_t count) const;
  size_t limit() const { return static_cast<size_t>(rows_); }  // of candidates
  Box Decode(int32_t image, const Candidate& candidate) const;
  void DecodeValues(const HeadTensor& boxes, int32_t image, size_t location, size_t channel,
                    float* values) const;

  size_t per_place_ = 1;
  int32_t level_count_ = 0;
  int32_t rows_ = 0;
  float limit_ = 0.0f;  // of raw scores
  Level levels_[kMaxLevels];
};

Status DecodeBoxes::CheckAttributes() const {
  const DecodeBoxesAttributes& a = attributes();
  TRIMTAB_CHECK(a.parts >= 1 && a.parts <= 3, "parts is out of range", a.parts);
  TRIMTAB_CHECK(a.classes >= 1 && a.classes <= INT16_MAX, "classes are out of range", a.classes);
  TRIMTAB_CHECK(a.bins >= 1 && a.bins <= int64_t{kMaxBins}, "bins are out of range", a.bins);
  TRIMTAB_CHECK(a.per_place >= 1 && a.per_place <= INT16_MAX, "per_place is out of range",
                a.per_place);
  TRIMTAB_CHECK(a.candidates >= 1, "candidates is out of range", a.candidates);
  TRIMTAB_CHECK(a.background >= -1 && a.background < a.classes, "background is out of range",
                a.background);
  TRIMTAB_CHECK(a.box_channel >= 0 && a.box_channel <= INT16_MAX, "box_channel is out of range",
                a.box_channel);
  TRIMTAB_CHECK(a.score_channel >= 0 && a.score_channel <= INT16_MAX,
                "score_channel is out of range", a.score_channel);
  TRIMTAB_CHECK(a.objectness_channel >= -1 && a.objectness_channel <= INT16_MAX,
                "objectness_channel is out of range", a.objectness_channel);
  TRIMTAB_CHECK(a.objectness_channel < 0 || a.scores != DecodeBoxesScores::kSoftmax,
                "a softmax has no objectness");
  TRIMTAB_CHECK(a.parts != 3 || a.objectness_channel >= 0, "part 3 needs objectness_channel");
  return Status();
}

// Checks a tensor of a level with the boxes' number of images and locations.
Status DecodeBoxes::CheckTensor(const HeadTensor& tensor, const HeadTensor& boxes,
                                int64_t channels) const {
  TRIMTAB_CHECK(tensor.is_valid(), "an input must be f32 or i8, of rank 3 or 4");
  TRIMTAB_CHECK(tensor.images == boxes.images && tensor.locations == boxes.locations,
                "the tensors of a level must have the same images and locations (expected, actual)",
                boxes.locations, tensor.locations);
  TRIMTAB_CHECK(tensor.channels % attributes().per_place == 0 &&
                    tensor.channels / attributes().per_place >= channels,
                "a tensor has too few channels (expected at least, actual)",
                channels * attributes().per_place, tensor.channels);
  return Status();
}

Status DecodeBoxes::AddLevel(int32_t index, int32_t first_input, int32_t first_location,
                             int64_t* boxes) {
  const DecodeBoxesAttributes& a = attributes();
  Level& level = levels_[index];
  const auto part = [&](int64_t i) {
    return HeadTensor(input(first_input + static_cast<int32_t>(i < a.parts ? i : a.parts - 1)),
                      a.channels_first);
  };
  level.boxes = part(0);
  level.scores = part(1);
  level.objectness = part(2);
  TRIMTAB_RETURN_IF_ERROR(CheckTensor(level.boxes, level.boxes, a.box_channel + 4 * a.bins));
  TRIMTAB_RETURN_IF_ERROR(CheckTensor(level.scores, level.boxes, a.score_channel + a.classes));
  TRIMTAB_RETURN_IF_ERROR(CheckTensor(level.objectness, level.boxes, a.objectness_channel + 1));
  level.first_location = first_location;
  level.first_index = static_cast<int32_t>(*boxes);
  if (a.grids.size > 0) {
    const auto i = static_cast<size_t>(index) * 2;
    const int64_t h = a.grids[i], w = a.grids[i + 1];
    TRIMTAB_CHECK(h >= 1 && w >= 1 && h <= INT16_MAX && w <= INT16_MAX, "a grid is out of range", h,
                  w);
    level.locations = static_cast<int32_t>(h * w);
    level.width = static_cast<int32_t>(w);
    TRIMTAB_CHECK(level.locations <= level.boxes.locations - first_location,
                  "the grids have more locations than the tensors", level.boxes.locations);
  } else {
    level.locations = level.boxes.locations;
    level.width = level.boxes.width;
  }
  const bool needs_grid =
      HasAnchors() || a.box == DecodeBoxesBox::kDistance || a.box == DecodeBoxesBox::kCell;
  TRIMTAB_CHECK(level.width > 0 || !needs_grid || level.locations == 0, "a grid is missing: grids");
  *boxes += level.locations * a.per_place;
  TRIMTAB_CHECK(*boxes <= kMaxElements, "too many boxes", *boxes);
  return Status();
}

Status DecodeBoxes::InferShape() {
  const DecodeBoxesAttributes& a = attributes();
  TRIMTAB_RETURN_IF_ERROR(CheckAttributes());
  const int64_t tensors = input_count() - (HasPriors() ? 1 : 0);
  TRIMTAB_CHECK(tensors >= a.parts && tensors % a.parts == 0,
                "the tensors do not fit the parts (parts, tensors)", a.parts, tensors);
  const int64_t given = tensors / a.parts, grids = a.grids.size / 2;
  TRIMTAB_CHECK(grids == 0 || (given == 1 && a.grids.size % 2 == 0),
                "grids need one level of tensors (levels)", given);
  const int64_t levels = grids > 0 ? grids : given;
  TRIMTAB_CHECK(levels <= kMaxLevels, "too many levels (maximum, actual)", kMaxLevels, levels);
  TRIMTAB_CHECK(a.strides.size == 0 || a.strides.size == levels,
                "there must be a stride for each level (levels, strides)", levels, a.strides.size);
  TRIMTAB_CHECK(a.center_scales.size == 0 || a.center_scales.size == levels,
                "there must be a center scale for each level (levels, scales)", levels,
                a.center_scales.size);
  TRIMTAB_CHECK(!HasAnchors() || a.anchors.size == 2 * levels * a.per_place,
                "anchors must have two sizes for each anchor (expected, actual)",
                2 * levels * a.per_place, a.anchors.size);
  per_place_ = static_cast<size_t>(a.per_place);
  level_count_ = static_cast<int32_t>(levels);
  int64_t boxes = 0;
  int32_t location = 0;
  for (int32_t i = 0; i < level_count_; ++i) {
    const int32_t first_input = grids > 0 ? 0 : i * static_cast<int32_t>(a.parts);
    TRIMTAB_RETURN_IF_ERROR(AddLevel(i, first_input, location, &boxes));
    TRIMTAB_CHECK(levels_[i].boxes.images == levels_[0].boxes.images,
                  "the levels have different numbers of images");
    location = grids > 0 ? location + levels_[i].locations : 0;
  }
  if (HasPriors()) {
    const Tensor& priors = input(input_count() - 1);
    TRIMTAB_CHECK(priors.dtype == DType::kF32 && priors.dims.rank == 2 && priors.dims[1] == 4 &&
                      priors.dims[0] == boxes,
                  "priors must be f32[boxes, 4] (boxes)", boxes);
  }
  const int64_t possible = boxes * (a.multi_label ? a.classes : 1);
  const int64_t rows = a.candidates < possible ? a.candidates : possible;
  const int64_t images = levels_[0].boxes.images;
  TRIMTAB_CHECK(images == 0 || rows <= kMaxElements / kBoxValues / images, "too many rows", rows);
  rows_ = static_cast<int32_t>(rows);
  SetBoxOutputs(&output(0), &output(1), &output(2), levels_[0].boxes.images, rows);
  limit_ = a.scores == DecodeBoxesScores::kLinear ? a.threshold : Logit(a.threshold);
  return Status();
}

// Offers the classes of an anchor, one of whose raw scores exceeds the limit.
size_t DecodeBoxes::CollectLocation(int32_t image, const Level& level, size_t location,
                                    size_t anchor, Candidate* heap, size_t count) const {
  const DecodeBoxesAttributes& a = attributes();
  const size_t at = static_cast<size_t>(level.first_location) + location;
  const HeadTensor& scores = level.scores;
  const size_t channel = scores.Block(anchor, per_place_) + static_cast<size_t>(a.score_channel);
  float factor = 1.0f, largest = 0.0f;
  if (a.objectness_channel >= 0) {
    const HeadTensor& objectness = level.objectness;
    factor = Score(objectness.At(
        image, at,
        objectness.Block(anchor, per_place_) + static_cast<size_t>(a.objectness_channel)));
  }
  const auto classes = static_cast<size_t>(a.classes);
  const bool is_softmax = a.scores == DecodeBoxesScores::kSoftmax;
  if (is_softmax) factor = scores.SoftmaxScale(image, at, channel, classes, &largest);
  Candidate best = {a.threshold, static_cast<int32_t>(location * per_place_ + anchor), -1};
  best.index += level.first_index;
  if (!is_softmax && factor >= 0.0f && a.background < 0) {
    // One score tells whether any exceeds the threshold: they rise with their raw values.
    const size_t label = scores.Best(image, at, channel, classes);
    const float value = scores.At(image, at, channel + label), score = factor * Score(value);
    if (!(value > limit_) || !(score > a.threshold)) return count;
    best.score = score;
    best.label = static_cast<int32_t>(label);
    if (!a.multi_label) return Offer(best, heap, count, limit());
  }
  float best_value = -INFINITY;
  for (int32_t label = 0; label < static_cast<int32_t>(a.classes); ++label) {
    const float value = scores.At(image, at, channel + static_cast<size_t>(label));
    // The best class follows from raw values: sigmoids of different ones may be equal.
    if (label == a.background || !(value > limit_ || is_softmax)) continue;
    if (!a.multi_label && best.label >= 0 && !(value > best_value)) continue;
    const float score = factor * (is_softmax ? expf(value - largest) : Score(value));
    if (!(score > a.threshold)) continue;
    best.score = score;
    best.label = label;
    best_value = value;
    if (a.multi_label) count = Offer(best, heap, count, limit());
  }
  return a.multi_label || best.label < 0 ? count : Offer(best, heap, count, limit());
}

// Offers the boxes of a level whose score may exceed the threshold; returns the number in the heap.
size_t DecodeBoxes::Collect(int32_t image, const Level& level, Candidate* heap,
                            size_t count) const {
  const DecodeBoxesAttributes& a = attributes();
  const auto locations = static_cast<size_t>(level.locations);
  const auto start = static_cast<size_t>(level.first_location);
  const HeadTensor& gate = a.objectness_channel >= 0 ? level.objectness : level.scores;
  const auto classes = a.objectness_channel >= 0 ? 1 : static_cast<size_t>(a.classes);
  const auto first =
      static_cast<size_t>(a.objectness_channel >= 0 ? a.objectness_channel : a.score_channel);
  // A softmax exceeds the threshold only if the difference to the background exceeds its logit.
  // Without a background, each location is looked at.
  const bool is_softmax = a.scores == DecodeBoxesScores::kSoftmax;
  const auto background = static_cast<size_t>(a.background);
  bool passes[kBlock];
  for (size_t anchor = 0; anchor < per_place_; ++anchor) {
    const size_t channel = gate.Block(anchor, per_place_) + first;
    for (size_t from = 0; from < locations; from += kBlock) {
      const size_t block = locations - from < kBlock ? locations - from : kBlock;
      if (is_softmax) {
        for (size_t i = 0; i < block; ++i) {
          const float base =
              a.background < 0 ? 0.0f : gate.At(image, start + from + i, channel + background);
          // A location without a finite background is looked at, too.
          passes[i] = a.background < 0 || !(fabsf(base) < INFINITY);
          for (size_t c = 0; c < classes && !passes[i]; ++c)
            passes[i] = c != background &&
                        gate.At(image, start + from + i, channel + c) - base > limit_ - kMargin;
        }
      } else if (!gate.AnyAbove(image, start + from, block, channel, classes, passes)) {
        continue;
      }
      for (size_t i = 0; i < block; ++i) {
        if (passes[i]) count = CollectLocation(image, level, from + i, anchor, heap, count);
      }
    }
  }
  return count;
}

void DecodeBoxes::DecodeValues(const HeadTensor& boxes, int32_t image, size_t location,
                               size_t channel, float* values) const {
  const auto bins = static_cast<size_t>(attributes().bins);
  for (size_t k = 0; k < 4; ++k) {
    if (bins == 1) {
      values[k] = boxes.At(image, location, channel + k);
      continue;
    }
    float largest = -INFINITY, sum = 0.0f, mean = 0.0f;
    float bin[kMaxBins];
    for (size_t i = 0; i < bins; ++i) {
      bin[i] = boxes.At(image, location, channel + k * bins + i);
      largest = fmaxf(largest, bin[i]);
    }
    for (size_t i = 0; i < bins; ++i) {
      const float weight = expf(bin[i] - largest);
      sum += weight;
      mean += weight * static_cast<float>(i);
    }
    values[k] = mean / sum;
  }
  if (!attributes().y_first) return;
  for (size_t k = 0; k < 4; k += 2) {
    const float y = values[k];
    values[k] = values[k + 1];
    values[k + 1] = y;
  }
}

// The box of a candidate, in pixels of the frame.
Box DecodeBoxes::Decode(int32_t image, const Candidate& candidate) const {
  const DecodeBoxesAttributes& a = attributes();
  int32_t number = level_count_ - 1;
  while (number > 0 && candidate.index < levels_[number].first_index) --number;
  const Level& level = levels_[number];
  const auto index = static_cast<size_t>(candidate.index - level.first_index);
  const size_t location = index / per_place_, anchor = index % per_place_;
  float v[4];
  DecodeValues(level.boxes, image, static_cast<size_t>(level.first_location) + location,
               level.boxes.Block(anchor, per_place_) + static_cast<size_t>(a.box_channel), v);
  const float unit = PerLevel(a.strides, number);
  const auto width = static_cast<size_t>(level.width > 0 ? level.width : 1);
  const size_t column = location % width, row = location / width;
  const float cell[2] = {static_cast<float>(column), static_cast<float>(row)};
  float low[2], high[2];
  for (size_t k = 0; k < 2; ++k) {
    float center = v[k], size = v[2 + k];
    switch (a.box) {
      case DecodeBoxesBox::kCorners:
        center = 0.5f * (v[k] + v[2 + k]);
        size = v[2 + k] - v[k];
        break;
      case DecodeBoxesBox::kCenterSize:
        break;
      case DecodeBoxesBox::kDistance:
        center = cell[k] + a.cell_offset + 0.5f * (v[2 + k] - v[k]);
        size = v[k] + v[2 + k];
        break;
      case DecodeBoxesBox::kPrior: {
        const float* const prior =
            input(input_count() - 1).data<float>() + static_cast<size_t>(candidate.index) * 4;
        center = prior[k] + v[k] * a.variances[k] * prior[2 + k];
        size = prior[2 + k] * expf(v[2 + k] * a.variances[2 + k]);
        break;
      }
      case DecodeBoxesBox::kCell:
        center = v[k] + cell[k];
        size = expf(v[2 + k]);
        break;
      case DecodeBoxesBox::kExponential:
      case DecodeBoxesBox::kSquare: {
        const bool is_square = a.box == DecodeBoxesBox::kSquare;
        const float scale = is_square ? 2.0f : PerLevel(a.center_scales, number);
        const float s = 2.0f * Sigmoid(v[2 + k]);
        const size_t pair = (static_cast<size_t>(number) * per_place_ + anchor) * 2;
        center = cell[k] + (Sigmoid(v[k]) - 0.5f) * scale + 0.5f;
        // Anchors are in pixels, all else is in cells.
        size = a.anchors[pair + k] / unit * (is_square ? s * s : expf(v[2 + k]));
        break;
      }
    }
    low[k] = (center - 0.5f * size) * unit * a.scale[k] + a.offset[k];
    high[k] = (center + 0.5f * size) * unit * a.scale[k] + a.offset[k];
  }
  return {low[0], low[1], high[0], high[1]};
}

// Single-threaded: scores are read once, and the heap is shared.
void DecodeBoxes::Run(ThreadPool&) {
  for (int32_t i = 0; i < level_count_; ++i) {
    levels_[i].boxes.Attach(limit_);
    levels_[i].scores.Attach(limit_);
    levels_[i].objectness.Attach(limit_);
  }
  auto* y = static_cast<ScoredBox*>(output(0).raw);
  int32_t* indices = result<int32_t>(2);
  const auto rows = static_cast<size_t>(rows_);
  auto* const heap = scratch<Candidate>();
  for (int32_t image = 0; image < output(0).dims[0]; ++image, y += rows, indices += rows) {
    size_t count = 0;
    for (int32_t i = 0; i < level_count_; ++i) count = Collect(image, levels_[i], heap, count);
    result<int32_t>(1)[image] = static_cast<int32_t>(count);
    for (size_t i = count; i < rows; ++i) {
      y[i] = ScoredBox{};
      indices[i] = 0;
    }
    while (count > 0) {  // the worst first
      const Candidate worst = heap[0], last = heap[--count];
      SiftDown(heap, count, last);
      y[count] = {Decode(image, worst), worst.score, static_cast<float>(worst.label)};
      indices[count] = worst.index;
    }
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(DecodeBoxes)
