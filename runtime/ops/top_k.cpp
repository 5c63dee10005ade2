#include "generated/attributes/top_k.h"

#include "runtime/core/parallel.h"
#include "runtime/ops/integer_element.h"
#include "runtime/ops/sizes.h"

namespace trimtab {
namespace {

class TopK final : public OperatorOf<TopKAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Dims& dims = input(0).dims;
    if (source() == SizeSource::kTensor) {
      const int64_t k = IntegerElement(input(1), 0);
      if (k <= 0 || k > static_cast<int64_t>(k_)) {
        for (int i = 0; i < 2; ++i) output(i).dims[axis_] = k == 0 ? 0 : -1;
        return;
      }
      SetCount(dims, static_cast<size_t>(k));
    }
    const auto inner = static_cast<size_t>(dims.Count(axis_ + 1, dims.rank));
    const size_t rows = static_cast<size_t>(dims.Count(0, axis_)) * inner;
    const auto n = static_cast<size_t>(dims[axis_]);
    pool.For(rows, 4 * n, [&](size_t begin, size_t end, int thread) {
      Item* const heap = scratch<Item>() + static_cast<size_t>(thread) * k_;
      for (size_t row = begin; row < end; ++row) {
        const size_t outer = row / inner, at = row % inner;
        Fill(input(0).data<float>() + outer * n * inner + at, inner, n, heap);
        const size_t to = outer * k_ * inner + at;
        Drain(heap, output(0).data<float>() + to, output(1).data<int64_t>() + to, inner);
      }
    });
  }

 protected:
  Status InferShape() override {
    const Dims& x = input(0).dims;
    axis_ = x.Axis(attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0, "axis is out of range (axis, rank)", attributes().axis, x.rank);
    int64_t k = attributes().k;
    if (source() == SizeSource::kTensor) {
      TRIMTAB_CHECK(input(1).Count() == 1, "there must be one k (elements)", input(1).Count());
      TRIMTAB_CHECK(k >= 0, "k is negative (k)", k);
      if (k > x[axis_]) k = x[axis_];
    } else {
      TRIMTAB_CHECK(k >= 1 && k <= x[axis_], "k exceeds the number of elements (elements, k)",
                    x[axis_], k);
    }
    SetCount(x, static_cast<size_t>(k));
    output(1).dtype = DType::kI64;
    return Status();
  }

  Status Prepare() override {
    return RequestScratch(uint64_t{k_} * sizeof(Item) * static_cast<uint64_t>(threads()));
  }

 private:
  SizeSource source() const { return SizeSourceOf<TopKAttributes>(has_input(1), false); }

  // Sets the number of elements, and the sizes of the results.
  void SetCount(const Dims& x, size_t k) {
    k_ = k;
    for (int i = 0; i < 2; ++i) {
      output(i).dims = x;
      output(i).dims[axis_] = static_cast<int32_t>(k_);
    }
  }

  struct Item {
    float value;
    int32_t index;
  };

  bool Better(const Item& a, const Item& b) const {
    if (a.value == b.value) return a.index < b.index;
    return attributes().largest ? a.value > b.value : a.value < b.value;
  }

  // Puts `item` into the heap of `size` elements at `hole`, whose element is dropped; each element
  // is worse than its children, so the worst is on top.
  void Sift(Item* heap, size_t size, size_t hole, Item item) const {
    for (size_t child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size && Better(heap[child], heap[child + 1])) ++child;
      if (!Better(item, heap[child])) break;
      heap[hole] = heap[child];
      hole = child;
    }
    heap[hole] = item;
  }

  // Selects the best k_ of n elements that are `stride` apart.
  void Fill(const float* x, size_t stride, size_t n, Item* heap) const {
    for (size_t i = 0; i < k_; ++i) heap[i] = {x[i * stride], static_cast<int32_t>(i)};
    for (size_t i = k_ / 2; i-- > 0;) Sift(heap, k_, i, heap[i]);
    for (size_t i = k_; i < n; ++i) {
      const Item item = {x[i * stride], static_cast<int32_t>(i)};
      if (Better(item, heap[0])) Sift(heap, k_, 0, item);
    }
  }

  // Removes the worst element of the heap repeatedly, and writes from the end.
  void Drain(Item* heap, float* values, int64_t* indices, size_t stride) const {
    for (size_t size = k_; size-- > 0;) {
      values[size * stride] = heap[0].value;
      indices[size * stride] = heap[0].index;
      Sift(heap, size, 0, heap[size]);
    }
  }

  int axis_ = 0;
  size_t k_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(TopK)
