#include "generated/attributes/decode_poses.h"

#include <math.h>

#include "runtime/core/operator.h"
#include "runtime/ops/boxes.h"
#include "runtime/ops/boxes_output.h"
#include "runtime/ops/detector_head.h"

namespace trimtab {
namespace {

constexpr int32_t kPointValues = 3;
constexpr int64_t kMaxPersons = 1024, kMaxRefinements = 64;
constexpr size_t kMaxPoints = 256;

struct Position {
  float y, x;  // in units of the stride
};

// A keypoint. The score is a logit while a person is decoded.
struct Point {
  Position position;
  float score;
};

// NaN becomes 0.
float Limit(float v, int32_t size) {
  const auto last = static_cast<float>(size - 1);
  return v > 0.0f ? (v < last ? v : last) : 0.0f;
}

// A map of an image, [h, w, channels].
struct Grid {
  const float* data;
  int32_t height, width, channels;

  Position Limited(float y, float x) const { return {Limit(y, height), Limit(x, width)}; }
  float At(int32_t y, int32_t x, size_t channel) const {
    const size_t position = static_cast<size_t>(y) * static_cast<size_t>(width);
    return data[(position + static_cast<size_t>(x)) * static_cast<size_t>(channels) + channel];
  }
  // Bilinear, at a place within the map.
  float Sample(Position at, size_t channel) const {
    const auto y0 = static_cast<int32_t>(at.y), x0 = static_cast<int32_t>(at.x);
    const int32_t y1 = y0 + (y0 + 1 < height ? 1 : 0), x1 = x0 + (x0 + 1 < width ? 1 : 0);
    const float v = at.y - static_cast<float>(y0), u = at.x - static_cast<float>(x0);
    return (1 - v) * ((1 - u) * At(y0, x0, channel) + u * At(y0, x1, channel)) +
           v * ((1 - u) * At(y1, x0, channel) + u * At(y1, x1, channel));
  }
};

bool AreNear(Position a, Position b, float square) {
  const float dy = a.y - b.y, dx = a.x - b.x;
  return dy * dy + dx * dx <= square;
}

class DecodePoses final : public OperatorOf<DecodePosesAttributes> {
 public:
  // Single-threaded: few places are maxima.
  void Run(ThreadPool&) override {
    for (int32_t image = 0; image < input(0).dims[0]; ++image) {
      for (int32_t i = 0; i < 3; ++i) {
        const Tensor& x = input(i);
        const auto elements = static_cast<size_t>(x.dims.Count(1, x.dims.rank));
        maps_[i] = {data<float>(i) + static_cast<size_t>(image) * elements, x.h(), x.w(), x.c()};
      }
      WritePersons(image, SuppressPoints(FindPersons()));
    }
  }

 protected:
  Status InferShape() override {
    const DecodePosesAttributes& a = attributes();
    const Dims& heat = input(0).dims;
    TRIMTAB_CHECK(heat.rank == 4 && heat[1] <= static_cast<int32_t>(kMaxPoints),
                  "heat must be [n, points, h, w] (points)", heat[1]);
    const int64_t points = heat[1], edges = a.edges.size / 2;
    const int64_t channels[] = {points, 2 * points, 4 * edges};
    for (int32_t i = 1; i < 3; ++i) {
      const Dims& dims = input(i).dims;
      TRIMTAB_CHECK(dims.rank == 4 && dims[0] == heat[0] && dims[1] == channels[i] &&
                        dims[2] == heat[2] && dims[3] == heat[3],
                    "an input does not fit the heat maps (input, expected channels)", i,
                    channels[i]);
    }
    for (size_t i = 0; i < a.edges.size; ++i)
      TRIMTAB_CHECK(a.edges[i] >= 0 && a.edges[i] < points && a.edges.size % 2 == 0,
                    "edges are pairs of keypoints (keypoint)", a.edges[i]);
    TRIMTAB_CHECK(a.stride > 0.0f, "the stride must be positive");
    TRIMTAB_CHECK(a.refinements >= 0 && a.refinements <= kMaxRefinements,
                  "refinements are out of range", a.refinements);
    TRIMTAB_CHECK(a.max_persons >= 1 && a.max_persons <= kMaxPersons, "max_persons is out of range",
                  a.max_persons);
    const auto persons = static_cast<int32_t>(a.max_persons);
    Tensor &boxes = output(0), &counts = output(1), &keypoints = output(2);
    boxes.dims = {3, {heat[0], persons, kBoxValues}};
    counts.dims = {1, {heat[0]}};
    keypoints.dims = {3, {heat[0], persons, kPointValues * heat[1]}};
    boxes.dtype = keypoints.dtype = DType::kF32;
    counts.dtype = DType::kI32;
    boxes.layout = counts.layout = keypoints.layout = Layout::kPlain;
    return Status();
  }

  Status Prepare() override {
    const auto persons = static_cast<uint64_t>(attributes().max_persons);
    const auto places = static_cast<uint64_t>(input(0).dims.Count(1, 4));
    return RequestScratch(persons * (points() * sizeof(Point) + sizeof(float) + sizeof(int32_t)) +
                          places * sizeof(int32_t));
  }

 private:
  // What is known of the keypoints of a person while it is decoded.
  enum class State : uint8_t { kUnknown, kReached, kDone };

  size_t points() const { return static_cast<size_t>(input(0).dims[1]); }
  size_t max_persons() const { return static_cast<size_t>(attributes().max_persons); }
  Point* persons() const { return scratch<Point>(); }
  float* scores() const { return reinterpret_cast<float*>(persons() + max_persons() * points()); }
  int32_t* order() const { return reinterpret_cast<int32_t*>(scores() + max_persons()); }
  int32_t* maxima() const { return order() + max_persons(); }

  // The best keypoints of each 3 x 3 places, as indices of the heat maps; returns their number.
  size_t FindMaxima() const {
    const Grid& heat = maps_[0];
    const float limit = Logit(attributes().threshold);
    size_t count = 0;
    int32_t index = 0;
    for (int32_t y = 0; y < heat.height; ++y) {
      for (int32_t x = 0; x < heat.width; ++x) {
        for (size_t k = 0; k < points(); ++k, ++index) {
          if (heat.data[index] >= limit && IsMaximum(y, x, k)) maxima()[count++] = index;
        }
      }
    }
    return count;
  }

  bool IsMaximum(int32_t y, int32_t x, size_t k) const {
    const Grid& heat = maps_[0];
    const float score = heat.At(y, x, k);
    for (int32_t i = y > 0 ? y - 1 : 0; i <= y + 1 && i < heat.height; ++i) {
      for (int32_t j = x > 0 ? x - 1 : 0; j <= x + 1 && j < heat.width; ++j) {
        if (heat.At(i, j, k) > score) return false;
      }
    }
    return true;
  }

  // Decodes and scores persons, from the best maximum on; returns their number.
  size_t FindPersons() const {
    const Ranking ranking = {maps_[0].data, 1};
    size_t left = FindMaxima(), count = 0;
    ranking.MakeHeap(maxima(), left);
    for (; left > 0 && count < max_persons(); --left) {
      const auto index = static_cast<size_t>(ranking.TakeBest(maxima(), left));
      const size_t k = index % points();
      const auto position = static_cast<int32_t>(index / points());
      const int32_t y = position / maps_[0].width, x = position % maps_[0].width;
      const Position at = Refined({static_cast<float>(y), static_cast<float>(x)}, k);
      if (IsTaken(at, k, count)) continue;
      Point* const person = persons() + count * points();
      Decode(at, k, person);
      scores()[count] = Mean(person, nullptr, 0);
      if (scores()[count] >= attributes().threshold) ++count;
    }
    return count;
  }

  bool IsTaken(Position at, size_t k, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      if (AreNear(at, persons()[i * points() + k].position, SquareRadius())) return true;
    }
    return false;
  }

  float SquareRadius() const {
    const float radius = attributes().radius / attributes().stride;
    return radius * radius;
  }

  // A place moved by two channels of a map: y and x in pixels.
  Position Moved(Position at, const Grid& map, size_t y, size_t x) const {
    const float factor = 1 / attributes().stride;
    return map.Limited(at.y + map.Sample(at, y) * factor, at.x + map.Sample(at, x) * factor);
  }
  Position Refined(Position at, size_t k) const { return Moved(at, maps_[1], k, points() + k); }

  // All keypoints of the person with the keypoint `root`. Those that no edge reaches have score 0.
  void Decode(Position at, size_t root, Point* person) const {
    State states[kMaxPoints] = {};
    for (size_t k = 0; k < points(); ++k) person[k] = {{0, 0}, -INFINITY};
    person[root] = {at, maps_[0].Sample(at, root)};
    states[root] = State::kReached;
    for (size_t next = root; next < points(); next = BestReached(person, states)) {
      states[next] = State::kDone;
      for (size_t direction = 0; direction < 2; ++direction)
        Follow(next, direction, person, states);
    }
    for (size_t k = 0; k < points(); ++k) person[k].score = Sigmoid(person[k].score);
  }

  // The first of the best keypoints whose edges were not followed yet; points() if there is none.
  size_t BestReached(const Point* person, const State* states) const {
    size_t best = points();
    for (size_t k = 0; k < points(); ++k) {
      if (states[k] != State::kReached) continue;
      if (best == points() || person[k].score > person[best].score) best = k;
    }
    return best;
  }

  // Follows the edges from a keypoint: forward (0), or backward (1).
  void Follow(size_t from, size_t direction, Point* person, State* states) const {
    const size_t edges = attributes().edges.size / 2;
    for (size_t e = 0; e < edges; ++e) {
      const auto ends = [&](size_t i) { return static_cast<size_t>(attributes().edges[i]); };
      const size_t to = ends(2 * e + 1 - direction);
      if (ends(2 * e + direction) != from || states[to] == State::kDone) continue;
      const size_t channel = 2 * direction * edges + e;
      Position at = Moved(person[from].position, maps_[2], channel, channel + edges);
      for (int64_t i = 0; i < attributes().refinements; ++i) at = Refined(at, to);
      const float score = maps_[0].Sample(at, to);
      if (states[to] == State::kReached && !(score > person[to].score)) continue;
      person[to] = {at, score};
      states[to] = State::kReached;
    }
  }

  // The mean score of a person's keypoints, without those near the same keypoints of the `count`
  // better persons.
  float Mean(const Point* person, const int32_t* better, size_t count) const {
    float sum = 0.0f;
    for (size_t k = 0; k < points(); ++k) {
      bool counts = true;
      for (size_t i = 0; i < count && counts; ++i) {
        const Point& other = persons()[static_cast<size_t>(better[i]) * points() + k];
        counts = !AreNear(person[k].position, other.position, SquareRadius());
      }
      if (counts) sum += person[k].score;
    }
    return sum / static_cast<float>(points());
  }

  // Writes the order of persons by score, best first.
  void Sort(size_t count) const {
    const Ranking ranking = {scores(), 1};
    for (size_t i = 0; i < count; ++i) order()[i] = static_cast<int32_t>(i);
    ranking.SelectBest(order(), count, count);
    for (size_t i = 0; i < count / 2; ++i) {
      const int32_t last = order()[count - 1 - i];
      order()[count - 1 - i] = order()[i];
      order()[i] = last;
    }
  }

  // Scores persons again, without the keypoints that better persons have, and sorts them; returns
  // the number of those that are left.
  size_t SuppressPoints(size_t count) const {
    Sort(count);
    for (size_t i = 0; i < count; ++i) {
      const auto person = static_cast<size_t>(order()[i]);
      scores()[person] = Mean(persons() + person * points(), order(), i);
    }
    Sort(count);
    size_t left = 0;
    while (left < count && scores()[order()[left]] >= attributes().threshold) ++left;
    return left;
  }

  void WritePersons(int32_t image, size_t count) const {
    const size_t first = static_cast<size_t>(image) * max_persons();
    auto* boxes = static_cast<ScoredBox*>(output(0).raw) + first;
    float* y = result<float>(2) + first * points() * kPointValues;
    result<int32_t>(1)[image] = static_cast<int32_t>(count);
    for (size_t i = 0; i < max_persons(); ++i) {
      boxes[i] = ScoredBox{};
      const auto person = static_cast<size_t>(i < count ? order()[i] : 0);
      if (i < count)
        boxes[i] = {{INFINITY, INFINITY, -INFINITY, -INFINITY}, scores()[person], 0.0f};
      for (size_t k = 0; k < points(); ++k, y += kPointValues) {
        const Point point = i < count ? persons()[person * points() + k] : Point{};
        y[0] = point.position.x * attributes().stride;
        y[1] = point.position.y * attributes().stride;
        y[2] = point.score;
        if (i < count) Extend(&boxes[i].box, y[0], y[1]);
      }
    }
  }

  static void Extend(Box* box, float x, float y) {
    *box = {fminf(box->xmin, x), fminf(box->ymin, y), fmaxf(box->xmax, x), fmaxf(box->ymax, y)};
  }

  Grid maps_[3] = {};  // of the image: heat, offsets, displacements
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(DecodePoses)
