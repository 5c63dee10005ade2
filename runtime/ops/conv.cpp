// 2-D convolution as indirect GEMM.
#include "generated/attributes/conv.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/padded_pixels.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

template <typename T>
struct GemmSource {
  WindowSource<T> window;
  size_t k;  // channels of a group of the GEMM
};

template <typename T>
void PointAtPixels(const void* context, GemmTiles<T>* tiles) {
  const auto& source = *static_cast<const GemmSource<T>*>(context);
  tiles->rows = PointAtTiles(source.window, tiles->row, tiles->rows, tiles->mr,
                             tiles->group * source.k, source.k, tiles->a, &tiles->taps, &tiles->k);
}

// Tiles whose pointers a thread stores for the next group, which reads other channels of the same
// pixels: finding the taps of a pixel takes longer than the products of a narrow group with them.
constexpr size_t kStoredTiles = 16;

// A thread's pointers: those of tile t are in slot t % kStoredTiles.
struct StoredPointers {
  size_t tiles[kStoredTiles];     // t + 1; 0: none
  size_t channels[kStoredTiles];  // to which the pointers point, in each pixel

  template <typename T>
  const T** of(size_t slot, size_t pointers) {
    return reinterpret_cast<const T**>(this + 1) + slot * pointers;
  }
};

// Pointers to padding move with the others: it is as long as a pixel.
template <typename T>
void PointAtGroups(const void* context, GemmTiles<T>* tiles) {
  const auto& source = *static_cast<const GemmSource<T>*>(context);
  auto* const stored = static_cast<StoredPointers*>(tiles->buffer);
  const size_t mr = tiles->mr, pointers = source.window.window.taps() * mr;
  const size_t tile = tiles->row / mr, first = tile % kStoredTiles;
  tiles->rows = Min(tiles->rows, (kStoredTiles - first) * mr);
  tiles->a = stored->of<T>(first, pointers);
  const T** a = tiles->a;
  const size_t channel = tiles->group * source.k;
  for (size_t row = 0, slot = first; row < tiles->rows; row += mr, ++slot, a += pointers) {
    const size_t name = tile + slot - first + 1;
    if (stored->tiles[slot] != name) {
      PointAtTiles(source.window, tiles->row + row, Min(mr, tiles->rows - row), mr, 0, source.k, a,
                   &tiles->taps, &tiles->k);
      stored->tiles[slot] = name;
      stored->channels[slot] = 0;
    }
    const auto step = static_cast<ptrdiff_t>(channel - stored->channels[slot]);
    for (size_t i = 0; step != 0 && i < pointers; ++i) a[i] += step;
    stored->channels[slot] = channel;
  }
  tiles->taps = static_cast<size_t>(source.window.window.taps());
  tiles->k = source.k;
}

template <typename T>
class Conv final : public OperatorOf<ConvAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  // Groups of the GEMM, and input channels of each.
  int64_t groups() const { return attributes().group / attributes().merged; }
  int64_t channels() const { return input(1).dims[1] * attributes().merged; }
  size_t pixel_padding() const { return static_cast<size_t>(attributes().gap); }
  bool stores_pointers() const { return groups() > 1 && window_.taps() > 1; }

  Window window_;
  Epilogue<T> epilogue_;
  GemmDriver<T> gemm_;
};

template <typename T>
Status Conv<T>::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, optional_input(2), optional_input(3)},
                                          attributes().strides, attributes().pads,
                                          attributes().dilations, &window_, &output().dims));
  const int64_t group = attributes().group;
  TRIMTAB_CHECK(group >= 1 && x.c() % group == 0 && w.dims[0] % group == 0,
                "channels are no multiple of the groups (input channels, groups)", x.c(), group);
  TRIMTAB_CHECK(w.dims[1] == x.c() / group,
                "weights do not fit the input's channels (expected, actual)", x.c() / group,
                w.dims[1]);
  return Status();
}

template <typename T>
Status Conv<T>::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  TRIMTAB_CHECK(attributes().group % attributes().merged == 0,
                "the groups are no multiple of the merged ones", attributes().group);
  const int64_t k = channels();
  const int64_t padding = window_.pointwise() ? 0 : stores_pointers() ? input(0).c() : k;
  const size_t pointers = kStoredTiles * attributes().kernel.mr * window_.taps();
  const size_t buffer =
      stores_pointers() ? sizeof(StoredPointers) + pointers * sizeof(const T*) : 0;
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(
      ProductPlan(attributes()), input(1), optional_input(2), groups(), output().c() / groups(),
      window_.taps() * k, window_.taps(), padding, threads(), static_cast<int64_t>(buffer)));
  return RequestScratch(gemm_.scratch_bytes() + PaddedPixelsBytes<T>(input(0), attributes().gap));
}

template <typename T>
void Conv<T>::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  Tensor& y = output();
  GemmSource<T> source{{window_, x.h(), x.w(), y.h(), y.w(), x.pixel_stride(), x.data<T>(),
                        gemm_.Zeros(scratch<void>())},
                       static_cast<size_t>(channels())};
  if (pixel_padding() != 0) {
    T* const copy = scratch<T>(static_cast<size_t>(gemm_.scratch_bytes()));
    source.window.x = PadPixels(x, pixel_padding(), copy, pool);
    source.window.pixel_stride = static_cast<size_t>(x.c()) + pixel_padding();
  }
  const StridedRows<T> pixels{source.window.x, source.window.pixel_stride, source.k, source.k};
  GemmJob<T> job;
  job.point = PointAtPixels<T>;
  job.context = &source;
  if (window_.pointwise()) {
    job.point = PointAtStridedRows<T>;
    job.context = &pixels;
  }
  if (stores_pointers()) {
    job.point = PointAtGroups<T>;
    job.most_part_tiles = kStoredTiles;
    for (int thread = 0; thread < threads(); ++thread)
      *static_cast<StoredPointers*>(gemm_.Buffer(scratch<void>(), thread)) = {};
  }
  job.w = data<T>(1);
  job.bias = optional_data<T>(2);
  job.residual = optional_data<T>(3);
  job.c = y.data<T>();
  job.groups = static_cast<size_t>(groups());
  job.lines = 1;  // the pixels of all rows and images are evenly spaced
  job.line_rows = static_cast<size_t>(y.n()) * y.h() * y.w();
  job.columns = static_cast<size_t>(y.c()) / job.groups;
  job.depth = window_.taps() * source.k;
  job.row_stride = y.pixel_stride();
  job.line_stride = 0;
  if (has_input(3)) job.residual_stride = input(3).pixel_stride();
  gemm_.Run(job, epilogue_, scratch<void>(), pool);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Conv, float, F32)
TRIMTAB_TYPED_OPERATOR(Conv, Half, F16)
