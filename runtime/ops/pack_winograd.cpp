// Transforms the weights of Winograd convolutions: for every element of a tile, panels of weights.
//
// Within a panel, stored weights are runs of all channels, tap by tap, so that the transform
// processes whole vectors of channels. Strided convolutions have weights of space-to-depth cells
// (conv_winograd.cpp); taps outside of their kernel are zeros.
#include "generated/attributes/pack_winograd.h"

#include <string.h>

#include "runtime/core/parallel.h"
#include "runtime/ops/stored_weights.h"
#include "runtime/ops/winograd_tiles.h"

namespace trimtab {
namespace {

constexpr size_t kMaxTaps = 8;              // pixels of a kernel's width or height
constexpr size_t kScratchFloats = 1 << 13;  // weights that are expanded at once

template <typename T>
class PackWinograd final : public PackOf<PackWinogradAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  void Transform(size_t panel, size_t first, size_t channels, T* scratch) const;

  void OpenPanel(size_t index, size_t thread) const {
    const size_t column = index * panel(), width = Min(c_out() - column, panel());
    const size_t depth = kernel_size() * kernel_size() * channels();
    this->Open(index, column * depth, width * depth, column, width, thread);
  }

  size_t kernel_size() const { return static_cast<size_t>(weights().w()); }
  size_t c_out() const { return static_cast<size_t>(weights().n()); }
  size_t channels() const { return static_cast<size_t>(weights().c()); }
  size_t panel() const { return static_cast<size_t>(attributes().panel); }
  size_t panels() const { return DivideUp(c_out(), panel()); }
  // Floats between neighboring elements of a tile.
  size_t element_stride() const {
    return panels() * cell_side_ * cell_side_ * channels() * panel();
  }

  Kernel<WinogradWeightsArgs<T>> kernel_ = nullptr;
  size_t taps_ = 0;       // r
  size_t size_ = 0;       // n
  size_t cell_side_ = 1;  // height and width of a space-to-depth cell in pixels
  size_t chunk_ =
      0;  // channels that are transformed at once; the last chunk includes the remainder
  size_t chunks_ = 0;          // per panel
  size_t scratch_floats_ = 0;  // per thread
};

template <typename T>
Status PackWinograd<T>::InferShape() {
  const Tensor& w = weights();
  TRIMTAB_CHECK(w.dims.rank == 4 && w.h() == w.w() && w.Count() > 0, "weights must be square");
  TRIMTAB_CHECK(attributes().stride >= 1 && attributes().stride <= w.w(),
                "strides are no part of the kernel", attributes().stride);
  const WinogradTile* const tile = FindWinogradTile(attributes().tile, w.w(), attributes().stride);
  TRIMTAB_CHECK(tile != nullptr, "there is no Winograd tile of this size for this kernel",
                attributes().tile, w.w());
  size_ = tile->size;
  taps_ = tile->taps;
  cell_side_ = static_cast<size_t>(attributes().stride) / tile->stride;
  output().dims = w.dims;
  return Status();
}

template <typename T>
Status PackWinograd<T>::Prepare() {
  const KernelRef& ref = attributes().kernel;
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("winograd_weights")>(ref, &kernel_));
  TRIMTAB_CHECK(ref.nr == 0 || (ref.nr == size_ && ref.mr == attributes().tile),
                "the plan's transforms are for tiles of another size");
  TRIMTAB_CHECK(channels() * panel() >= kMinWinogradChannels, "there are too few weights");
  const size_t tile_taps = taps_ * taps_;
  const size_t min_chunk = DivideUp(kMinWinogradChannels, panel());
  const size_t fitting = kScratchFloats / (tile_taps * panel());
  chunk_ = Min(fitting > min_chunk ? fitting : min_chunk, channels());
  chunks_ = channels() / chunk_;
  // Zeros for absent taps, then the taps of the last chunk.
  scratch_floats_ = (1 + tile_taps) * (channels() - (chunks_ - 1) * chunk_) * panel();
  const uint64_t bytes = uint64_t{scratch_floats_} * sizeof(T) * static_cast<uint64_t>(threads());
  if (is_coded()) {
    const size_t largest = kernel_size() * kernel_size() * channels() * Min(c_out(), panel());
    TRIMTAB_RETURN_IF_ERROR(PrepareCode(weights().n(), panels(), largest, bytes));
  } else {
    TRIMTAB_RETURN_IF_ERROR(RequestScratch(bytes));
  }
  // In 64 bits, which cannot overflow; the check below covers element_stride() as well.
  const uint64_t floats =
      uint64_t{size_ * size_} * panels() * panel() * (cell_side_ * cell_side_) * channels();
  return CheckPacking(weights().n(), static_cast<int64_t>(floats));
}

template <typename T>
void PackWinograd<T>::Transform(size_t panel_index, size_t first, size_t channels,
                                T* scratch) const {
  const size_t k = kernel_size(), s = cell_side_, floats = channels * panel();
  const size_t before = panel_index * panel();
  const size_t width = Min(c_out() - before, panel());
  const T* const zeros = scratch;
  const size_t thread =
      is_coded() ? static_cast<size_t>(scratch - this->template scratch<T>()) / scratch_floats_ : 0;
  if (s > 1) memset(scratch, 0, floats * sizeof(T));
  T* y = result<T>() + (panel_index * s * s * this->channels() + first) * panel();
  for (size_t pixel = 0; pixel < s * s; ++pixel, y += this->channels() * panel()) {
    const T* taps[kMaxTaps * kMaxTaps];
    T* copy = scratch + floats;
    for (size_t i = 0; i < taps_ * taps_; ++i, copy += floats) {
      const size_t row = i / taps_ * s + pixel / s, column = i % taps_ * s + pixel % s;
      const size_t tap = (before * k * k + (row * k + column) * width) * this->channels();
      taps[i] = row < k && column < k
                    ? this->Get(thread, {input(0), tap + first * width, channels, width}, before,
                                copy, panel())
                    : zeros;
    }
    kernel_({taps, y, floats, element_stride(), static_cast<uint16_t>(attributes().tile),
             static_cast<uint16_t>(size_)});
  }
}

template <typename T>
void PackWinograd<T>::Run(ThreadPool& pool) {
  this->ReadCode();
  const size_t cost = kFunctionCost * size_ * size_ * chunk_;
  pool.For(panels() * chunks_, cost, [&](size_t begin, size_t end, int thread) {
    T* const own = scratch<T>() + static_cast<size_t>(thread) * scratch_floats_;
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % chunks_ * chunk_;
      const bool last = i % chunks_ + 1 == chunks_;
      if (is_coded() && (i == begin || first == 0))
        OpenPanel(i / chunks_, static_cast<size_t>(thread));
      Transform(i / chunks_, first, last ? channels() - first : chunk_, own);
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(PackWinograd, float, F32)
TRIMTAB_TYPED_OPERATOR(PackWinograd, Half, F16)
