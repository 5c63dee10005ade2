// Matrix products.
#include <algorithm>

#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

// How weights are packed, for the portable kernel: others know; and what kernels may write to.
template <typename Args>
void SetUp(Args*, size_t) {}
void SetUp(GemmArgs<int8_t>* args, size_t tile) {
  args->kr = 4;
  args->scratch = Shared<int8_t>().scratch.Take(tile);
}

// One product with the column blocks of the engine's driver: rows of A are `line` pixels to an
// image row, `step` elements apart; a tap reads k elements, the next one lies an image row below.
template <typename T>
Pass GemmPass(Kernel<GemmArgs<T>> kernel, const LayerSizes& s) {
  constexpr size_t kResidentFloats = 64 * 1024;
  const size_t rows = s.at("rows"), columns = s.at("columns"), taps = s.at("taps"), k = s.at("k");
  const size_t step = s.at("step"), line = s.at("line"), mr = s.at("mr"), nr = s.at("nr");
  const size_t panels = (columns + nr - 1) / nr, depth = taps * k;
  const size_t block = std::max<size_t>(1, kResidentFloats / (depth * nr)) * nr;
  const T* const x = Shared<T>().x.Take((rows + taps * line) * step + k);
  const T* const w = Shared<T>().w.Take(panels * nr * (depth + 1));
  T* const y = Shared<T>().y.Take(rows * columns);
  Pointers<T> pointers;
  for (size_t i = 0; i < rows; i += mr) {
    for (size_t t = 0; t < taps; ++t) {
      for (size_t j = 0; j < mr; ++j)
        pointers.push_back(x + (std::min(i + j, rows - 1) + t * line) * step);
    }
  }
  return [=] {
    GemmArgs<T> args = {};
    args.taps = taps;
    args.k = k;
    args.c_stride = columns;
    SetUp(&args, mr * depth);
    args.mr = static_cast<uint16_t>(mr);
    args.nr = static_cast<uint16_t>(nr);
    for (size_t column = 0; column < columns; column += block) {
      args.w = w + column * depth;
      SetEpilogue(&args, w + panels * nr * depth + column, panels * nr);
      args.columns = std::min(block, columns - column);
      for (size_t i = 0; i < rows; i += mr) {
        args.a = pointers.data() + i * taps;
        args.rows = std::min(mr, rows - i);
        args.c = y + i * columns + column;
        kernel(args);
      }
    }
  };
}

const PassMaker kMakers[] = {
    {"GemmArgs<float>", MakePass<GemmArgs<float>, GemmPass<float>>},
    {"GemmArgs<Half>", MakePass<GemmArgs<Half>, GemmPass<Half>>},
    {"GemmArgs<int8_t>", MakePass<GemmArgs<int8_t>, GemmPass<int8_t>>},
};

}  // namespace
}  // namespace trimtab
