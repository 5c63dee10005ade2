// Packs the right-hand sides of Strassen's algorithm: the quadrants B of the weights and their sums
// T (conv_strassen.cpp), each in panels.
#include "generated/attributes/pack_strassen.h"

#include "runtime/core/parallel.h"
#include "runtime/ops/stored_weights.h"

namespace trimtab {
namespace {

constexpr size_t kChunkFloats = 1 << 10;  // elements of a quadrant that are expanded at once

typedef float F32Vector __attribute__((vector_size(16), aligned(4), may_alias));
constexpr size_t kStep = sizeof(F32Vector) / sizeof(float);

// Computes the right-hand sides in the order of conv_strassen.cpp, `stride` apart; n is a multiple
// of kStep.
void AddQuadrants(const float* b11, const float* b12, const float* b21, const float* b22, size_t n,
                  size_t stride, float* y) {
  const auto load = [](const float* x) { return *reinterpret_cast<const F32Vector*>(x); };
  for (size_t i = 0; i < n; i += kStep, y += kStep) {
    const F32Vector x11 = load(b11 + i), x12 = load(b12 + i), x21 = load(b21 + i),
                    x22 = load(b22 + i);
    const F32Vector t1 = x12 - x11, t2 = x22 - t1;
    float* to = y;
    const F32Vector sides[] = {x11, t2, x22 - x12, t1, x21 - t2, x22, x21};
    for (const F32Vector& side : sides) {
      *reinterpret_cast<F32Vector*>(to) = side;
      to += stride;
    }
  }
}

class PackStrassen final : public PackOf<PackStrassenAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  void OpenPanel(size_t index, size_t width, size_t place) const {
    const size_t column = index * panel(), rows = 2 * depth();
    Open(index, column * rows, width * rows, column, width, place);
  }

  size_t panel() const { return static_cast<size_t>(attributes().panel); }
  size_t c_out() const { return static_cast<size_t>(weights().n()); }
  size_t depth() const { return static_cast<size_t>(weights().c()) / 2; }
  size_t half_panels() const { return c_out() / (2 * panel()); }
  size_t left_panels() const { return DivideUp(c_out(), panel()) - 2 * half_panels(); }
  size_t chunk() const { return kChunkFloats / panel(); }
};

Status PackStrassen::InferShape() {
  const Tensor& w = weights();
  TRIMTAB_CHECK(w.dims.rank == 4 && w.h() == 1 && w.w() == 1 && w.c() % 2 == 0,
                "weights must be 1x1, with channels that can be halved");
  output().dims = w.dims;
  output().dtype = DType::kF32;
  return Status();
}

Status PackStrassen::Prepare() {
  TRIMTAB_CHECK(attributes().panel % static_cast<int64_t>(kStep) == 0,
                "a panel must have a multiple of four columns", attributes().panel);
  const uint64_t bytes = static_cast<uint64_t>(threads()) * 4 * chunk() * panel() * sizeof(float);
  if (is_coded()) {
    TRIMTAB_RETURN_IF_ERROR(PrepareCode(weights().n(), 2 * half_panels() + left_panels(),
                                        2 * depth() * Min(c_out(), panel()), bytes, 2));
  } else {
    TRIMTAB_RETURN_IF_ERROR(RequestScratch(bytes));
  }
  const uint64_t floats = uint64_t{7 * half_panels() + 2 * left_panels()} * depth() * panel();
  return CheckPacking(weights().n(), static_cast<int64_t>(floats));
}

void PackStrassen::Run(ThreadPool& pool) {
  const size_t n = panel(), k = depth(), half = half_panels(), chunks = DivideUp(k, chunk());
  float* const y = output().data<float>();
  ReadCode();
  pool.For(half * chunks, 8 * chunk() * n, [&](size_t begin, size_t end, int thread) {
    float* const own = scratch<float>() + static_cast<size_t>(thread) * 4 * chunk() * n;
    for (size_t i = begin; i < end; ++i) {
      const size_t panel_index = i / chunks, first = i % chunks * chunk();
      for (size_t side = 0; is_coded() && side < 2 && (i == begin || first == 0); ++side)
        OpenPanel(side * half + panel_index, n, 2 * static_cast<size_t>(thread) + side);
      const size_t rows = Min(chunk(), k - first);
      // Rows of this panel in each quadrant, the left ones first; the lower quadrants are `k` rows
      // further on.
      const float* b[4];
      for (size_t q = 0; q < 4; ++q) {
        const size_t column = (q / 2 * half + panel_index) * n;
        const size_t row = column / n * 2 * k + q % 2 * k + first;
        b[q] = Get(2 * static_cast<size_t>(thread) + q / 2, {input(0), row * n, rows, n}, column,
                   own + q * chunk() * n, n);
      }
      AddQuadrants(b[0], b[2], b[1], b[3], rows * n, half * k * n,
                   y + (panel_index * k + first) * n);
    }
  });
  const size_t stored = 2 * half * n;  // columns
  pool.For(left_panels(), 2 * k * n, [&](size_t begin, size_t end, int thread) {
    for (size_t i = begin; i < end; ++i) {
      const size_t column = stored + i * n;
      const StoredRows rows = {input(0), column * 2 * k, 2 * k, Min(c_out() - column, n)};
      const size_t place = 2 * static_cast<size_t>(thread);
      OpenPanel(column / n, rows.width, place);
      Copy(place, rows, column, y + (7 * half + 2 * i) * k * n, n);
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(PackStrassen)
