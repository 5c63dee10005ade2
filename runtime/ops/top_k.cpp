#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

struct Item {
  float value;
  int32_t index;
};

class TopK final : public OperatorOf<TopKAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Dims& dims = input(0).dims;
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
    TRIMTAB_CHECK(attributes().k >= 1 && attributes().k <= x[axis_],
                  "k exceeds the number of elements (elements, k)", x[axis_], attributes().k);
    k_ = static_cast<size_t>(attributes().k);
    for (int i = 0; i < 2; ++i) {
      output(i).dims = x;
      output(i).dims[axis_] = static_cast<int32_t>(k_);
    }
    output(1).dtype = DType::kI64;
    return Status();
  }

  Status Prepare() override {
    return RequestScratch(uint64_t{k_} * sizeof(Item) * static_cast<uint64_t>(threads()));
  }

 private:
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
