// Transformed weights of Winograd convolution: for every element of a tile, panels of weights.
//
// Stored weights are, within a panel, runs of all channels tap by tap, so that the transform goes
// over whole vectors of them. Those of a strided convolution are weights of squares of pixels
// (conv_winograd.cpp); taps that a kernel lacks there are zeros.
#include <string.h>

#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/stored_weights.h"
#include "runtime/ops/winograd_tiles.h"

namespace trimtab {
namespace {

constexpr size_t kMaxTaps = 8;              // of a square of them, down or across
constexpr size_t kScratchFloats = 1 << 13;  // weights that are expanded at once

template <typename T>
class PackWinograd final : public OperatorOf<PackWinogradAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  void Transform(size_t panel, size_t first, size_t channels, T* scratch) const;

  size_t kernel_size() const { return static_cast<size_t>(input(0).w()); }
  size_t channels() const { return static_cast<size_t>(input(0).c()); }
  size_t panel() const { return static_cast<size_t>(attributes().panel); }
  size_t panels() const { return DivideUp(static_cast<size_t>(input(0).n()), panel()); }
  // Floats from an element of a tile to the next.
  size_t element_stride() const { return panels() * square_ * square_ * channels() * panel(); }

  Kernel<WinogradWeightsArgs<T>> kernel_ = nullptr;
  size_t taps_ = 0;    // r
  size_t size_ = 0;    // n
  size_t square_ = 1;  // pixels of a square, down or across
  size_t chunk_ = 0;  // channels that are transformed at once; what is left goes with the last ones
  size_t chunks_ = 0;          // of a panel
  size_t scratch_floats_ = 0;  // of a thread
};

template <typename T>
Status PackWinograd<T>::InferShape() {
  const Tensor& w = input(0);
  TRIMTAB_CHECK(w.dims.rank == 4 && w.h() == w.w() && w.Count() > 0, "weights must be square");
  TRIMTAB_CHECK(attributes().stride >= 1 && attributes().stride <= w.w(),
                "strides are no part of the kernel", attributes().stride);
  const WinogradTile* const tile = FindWinogradTile(attributes().tile, w.w(), attributes().stride);
  TRIMTAB_CHECK(tile != nullptr, "there is no Winograd tile of this size for this kernel",
                attributes().tile, w.w());
  size_ = tile->size;
  taps_ = tile->taps;
  square_ = static_cast<size_t>(attributes().stride) / tile->stride;
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
  const size_t square_taps = taps_ * taps_;
  const size_t least = DivideUp(kMinWinogradChannels, panel());
  const size_t fitting = kScratchFloats / (square_taps * panel());
  chunk_ = Least(fitting > least ? fitting : least, channels());
  chunks_ = channels() / chunk_;
  // Zeros in the place of a tap, then the taps of the last channels.
  scratch_floats_ = (1 + square_taps) * (channels() - (chunks_ - 1) * chunk_) * panel();
  TRIMTAB_RETURN_IF_ERROR(
      RequestScratch(uint64_t{scratch_floats_} * sizeof(T) * static_cast<uint64_t>(threads())));
  // In 64 bits, which this fits in on every device; element_stride() does if it is not too large.
  const uint64_t floats =
      uint64_t{size_ * size_} * panels() * panel() * (square_ * square_) * channels();
  return CheckPacking(input(0), static_cast<int64_t>(floats), &output());
}

template <typename T>
void PackWinograd<T>::Transform(size_t panel_index, size_t first, size_t channels,
                                T* scratch) const {
  const size_t k = kernel_size(), s = square_, floats = channels * panel();
  const size_t before = panel_index * panel();
  const size_t width = Least(static_cast<size_t>(input(0).n()) - before, panel());
  const T* const zeros = scratch;
  if (s > 1) memset(scratch, 0, floats * sizeof(T));
  T* y = result<T>() + (panel_index * s * s * this->channels() + first) * panel();
  for (size_t square = 0; square < s * s; ++square, y += this->channels() * panel()) {
    const T* taps[kMaxTaps * kMaxTaps];
    T* copy = scratch + floats;
    for (size_t i = 0; i < taps_ * taps_; ++i, copy += floats) {
      const size_t row = i / taps_ * s + square / s, column = i % taps_ * s + square % s;
      const size_t tap = (before * k * k + (row * k + column) * width) * this->channels();
      taps[i] = row < k && column < k
                    ? StoredRows{input(0), tap + first * width, channels, width}.Get(copy, panel())
                    : zeros;
    }
    kernel_({taps, y, floats, element_stride(), static_cast<uint16_t>(attributes().tile),
             static_cast<uint16_t>(size_)});
  }
}

template <typename T>
void PackWinograd<T>::Run(ThreadPool& pool) {
  const size_t cost = kFunctionCost * size_ * size_ * chunk_;
  pool.For(panels() * chunks_, cost, [&](size_t begin, size_t end, int thread) {
    T* const own = scratch<T>() + static_cast<size_t>(thread) * scratch_floats_;
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % chunks_ * chunk_;
      const bool last = i % chunks_ + 1 == chunks_;
      Transform(i / chunks_, first, last ? channels() - first : chunk_, own);
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(PackWinograd, float, F32)
TRIMTAB_TYPED_OPERATOR(PackWinograd, Half, F16)
