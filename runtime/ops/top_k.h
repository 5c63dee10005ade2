// The best elements along an axis.
#ifndef TRIMTAB_OPS_TOP_K_H_
#define TRIMTAB_OPS_TOP_K_H_

#include "runtime/core/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {

// An operator that computes k_ elements. `Self`: its class, which is local to a source, so that the
// compiler may inline this one. `Attributes`: k, axis, largest.
template <typename Self, typename Attributes>
class BestElements : public OperatorOf<Attributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Dims& dims = this->input(0).dims;
    const auto inner = static_cast<size_t>(dims.Count(axis_ + 1, dims.rank));
    const size_t rows = static_cast<size_t>(dims.Count(0, axis_)) * inner;
    const auto n = static_cast<size_t>(dims[axis_]);
    pool.For(rows, 4 * n, [&](size_t begin, size_t end, int thread) {
      Item* const heap = this->template scratch<Item>() + static_cast<size_t>(thread) * k_;
      for (size_t row = begin; row < end; ++row) {
        const size_t outer = row / inner, at = row % inner;
        Fill(this->input(0).template data<float>() + outer * n * inner + at, inner, n, heap);
        const size_t to = outer * k_ * inner + at;
        Drain(heap, this->output(0).template data<float>() + to,
              this->output(1).template data<int64_t>() + to, inner);
      }
    });
  }

 protected:
  Status InferShape() override {
    const Dims& x = this->input(0).dims;
    axis_ = x.Axis(this->attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0, "axis is out of range (axis, rank)", this->attributes().axis, x.rank);
    TRIMTAB_CHECK(this->attributes().k >= 1 && this->attributes().k <= x[axis_],
                  "k exceeds the number of elements (elements, k)", x[axis_], this->attributes().k);
    SetCount(x, static_cast<size_t>(this->attributes().k));
    this->output(1).dtype = DType::kI64;
    return Status();
  }

  Status Prepare() override {
    return this->RequestScratch(uint64_t{k_} * sizeof(Item) *
                                static_cast<uint64_t>(this->threads()));
  }

  // Sets the number of elements, and the sizes of the results.
  void SetCount(const Dims& x, size_t k) {
    k_ = k;
    for (int i = 0; i < 2; ++i) {
      this->output(i).dims = x;
      this->output(i).dims[axis_] = static_cast<int32_t>(k_);
    }
  }

  int axis_ = 0;

 private:
  BestElements() = default;
  friend Self;

  struct Item {
    float value;
    int32_t index;
  };

  bool Better(const Item& a, const Item& b) const {
    if (a.value == b.value) return a.index < b.index;
    return this->attributes().largest ? a.value > b.value : a.value < b.value;
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

  size_t k_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_TOP_K_H_
