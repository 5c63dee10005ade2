// Passes of GEMM kernels.
#include <algorithm>

#include "bindings/kernel_passes/pass.h"

namespace trimtab {
namespace {

// Sets the packing, for the portable kernel, and the kernel's scratch memory.
template <typename Args>
void SetUp(Args*, size_t, size_t) {}
void SetUp(GemmArgs<int8_t>* args, size_t tile, size_t steps) {
  args->kr = 4;
  args->steps = steps;
  args->scratch = Shared<int8_t>().scratch.Take(tile);
}

// Sizes of a panel: elements, and steps if weights are paired.
struct PanelSizes {
  size_t elements, steps;
};

size_t Panels(const LayerSizes& s) { return (s.at("columns") + s.at("nr") - 1) / s.at("nr"); }

// One GEMM with the column blocks of the engine's driver: `line` pixels per image row, `step`
// elements apart; a tap reads k elements, the next tap is one image row below.
template <typename T>
Pass ProductPass(Kernel<GemmArgs<T>> kernel, const LayerSizes& s, const T* w, PanelSizes panel) {
  constexpr size_t kResidentFloats = 64 * 1024;
  const size_t rows = s.at("rows"), columns = s.at("columns"), taps = s.at("taps"), k = s.at("k");
  const size_t step = s.at("step"), line = s.at("line"), mr = s.at("mr"), nr = s.at("nr");
  const size_t panels = Panels(s), depth = taps * k;
  const size_t block = std::max<size_t>(1, kResidentFloats / (depth * nr)) * nr;
  // A step of paired weights reads past taps that have fewer elements.
  const T* const x = Shared<T>().x.Take((rows + taps * line) * step + k + kPairedDepth);
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
    SetUp(&args, mr * depth, panel.steps);
    args.mr = static_cast<uint16_t>(mr);
    args.nr = static_cast<uint16_t>(nr);
    for (size_t column = 0; column < columns; column += block) {
      args.w = w + column / nr * panel.elements;
      SetEpilogue(&args, w + panels * panel.elements + column, panels * nr);
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

template <typename T>
Pass GemmPass(Kernel<GemmArgs<T>> kernel, const LayerSizes& s) {
  const size_t panel = s.at("taps") * s.at("k") * s.at("nr");
  const T* const w = Shared<T>().w.Take(Panels(s) * (panel + s.at("nr")));
  return ProductPass<T>(kernel, s, w, {panel, 0});
}

// Steps in the order of the depth; taps with fewer elements than a step read past their end.
Pass PairedGemmPass(Kernel<PairedGemmArgs<int8_t>> kernel, const LayerSizes& s) {
  const size_t k = s.at("k"), depth = s.at("taps") * k;
  const size_t step_bytes = sizeof(PairedStep) + kPairedDepth * s.at("nr");
  const size_t steps = (depth + kPairedDepth - 1) / kPairedDepth;
  int8_t* const w = Shared<int8_t>().w.Take(Panels(s) * (steps * step_bytes + s.at("nr")));
  for (size_t i = 0; i < Panels(s) * steps; ++i) {
    const size_t at = std::min(i % steps * kPairedDepth, depth - 1), in_tap = at % k;
    const size_t last = k < kPairedDepth ? 0 : k - kPairedDepth;
    PairedStep step = {};
    step.base = static_cast<uint32_t>(at - in_tap + std::min(in_tap, last));
    step.count = static_cast<uint32_t>(steps);
    __builtin_memcpy(w + i * step_bytes, &step, sizeof(step));
  }
  return ProductPass<int8_t>(kernel, s, w, {steps * step_bytes, steps});
}

const PassMaker kMakers[] = {
    {"GemmArgs<float>", MakePass<GemmArgs<float>, GemmPass<float>>},
    {"GemmArgs<Half>", MakePass<GemmArgs<Half>, GemmPass<Half>>},
    {"GemmArgs<int8_t>", MakePass<GemmArgs<int8_t>, GemmPass<int8_t>>},
    {"PairedGemmArgs<int8_t>", MakePass<PairedGemmArgs<int8_t>, PairedGemmPass>},
};

}  // namespace
}  // namespace trimtab
