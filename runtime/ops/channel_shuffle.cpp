#include "generated/attributes/channel_shuffle.h"

#include <utility>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

// Elements are copied as bits; the buffers have other types.
using Bits8 = uint8_t;
using Bits16 = uint16_t __attribute__((may_alias));
using Bits32 = uint32_t __attribute__((may_alias));
using Bits64 = uint64_t __attribute__((may_alias));

// y = x[0], other[0], x[1], other[1], ..., for one vector of each; kIndices: the indices of a
// vector.
template <typename Bits, size_t... kIndices>
inline void InterleaveVectors(const Bits* x, const Bits* other, Bits* y,
                              std::index_sequence<kIndices...>) {
  constexpr size_t kLanes = sizeof...(kIndices);
  typedef Bits Lanes __attribute__((vector_size(16)));
  typedef Bits Pairs __attribute__((vector_size(32)));
  Lanes a, b;
  __builtin_memcpy(&a, x, sizeof(a));
  __builtin_memcpy(&b, other, sizeof(b));
  // One zip instruction on ARM.
  const Pairs pairs =
      __builtin_shufflevector(a, b, (kIndices / 2 + kIndices % 2 * (kLanes / 2))...);
  __builtin_memcpy(y, &pairs, sizeof(pairs));
}

// The same for `n` elements of each.
template <typename Bits>
void InterleaveTwo(const Bits* x, const Bits* other, Bits* y, size_t n) {
  constexpr size_t kLanes = 16 / sizeof(Bits);
  const auto vectors = [&](size_t at) {
    InterleaveVectors(x + at, other + at, y + 2 * at, std::make_index_sequence<2 * kLanes>());
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) vectors(i);
  if (i < n && n >= kLanes) {
    vectors(n - kLanes);  // overlaps the previous vectors
    return;
  }
  for (; i < n; ++i) {
    y[2 * i] = x[i];
    y[2 * i + 1] = other[i];
  }
}

// Writes `n` channels of an output pixel: channels of all groups, interleaved, from `group` on of
// the first member at `from`.
template <typename Bits>
void Interleave(const void* from, void* to, size_t groups, size_t members, size_t group, size_t n) {
  const auto* x = static_cast<const Bits*>(from);
  auto* y = static_cast<Bits*>(to);
  if (groups == 2) {  // the case of all known networks
    for (; group != 0 && n > 0; group = 0, --n) *y++ = x++[members];
    InterleaveTwo(x, x + members, y, n / 2);
    if (n % 2 != 0) y[n - 1] = x[n / 2];
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    y[i] = x[group * members];
    if (++group < groups) continue;
    group = 0;
    ++x;
  }
}

class ChannelShuffle final : public OperatorOf<ChannelShuffleAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    const auto groups = static_cast<size_t>(attributes().group);
    const size_t channels = static_cast<size_t>(x.c()), size = x.element_size();
    const size_t pixels = static_cast<size_t>(x.Count()) / channels;
    const size_t part = channels / static_cast<size_t>(output_count()), members = channels / groups;
    const auto interleave = size == 4   ? Interleave<Bits32>
                            : size == 8 ? Interleave<Bits64>
                            : size == 2 ? Interleave<Bits16>
                                        : Interleave<Bits8>;
    pool.For(pixels, channels, [&](size_t begin, size_t end, int) {
      for (int i = 0; i < output_count(); ++i) {
        const Tensor& y = output(i);
        const size_t first = static_cast<size_t>(i) * part, member = first / groups;
        const size_t group = first % groups;
        const auto* from =
            static_cast<const uint8_t*>(x.raw) + (begin * x.pixel_stride() + member) * size;
        auto* to = static_cast<uint8_t*>(y.raw) + begin * y.pixel_stride() * size;
        for (size_t p = begin; p < end; ++p) {
          interleave(from, to, groups, members, group, part);
          from += x.pixel_stride() * size;
          to += y.pixel_stride() * size;
        }
      }
    });
  }

 protected:
  Status InferShape() override {
    const Tensor& x = input(0);
    const int64_t group = attributes().group;
    TRIMTAB_CHECK(x.dims.rank == 4, "the input must be [n, c, h, w] (rank)", x.dims.rank);
    TRIMTAB_CHECK(group > 0 && x.c() > 0 && x.c() % group == 0,
                  "groups do not divide the channels (groups, channels)", group, x.c());
    TRIMTAB_CHECK(x.c() % output_count() == 0, "results do not divide the channels (results)",
                  output_count());
    for (int i = 0; i < output_count(); ++i) {
      output(i).dims = x.dims;
      output(i).dims[1] = x.c() / output_count();
    }
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ChannelShuffle)
