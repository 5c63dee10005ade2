#include "generated/attributes/expand.h"

#include "runtime/core/strided_copy.h"
#include "runtime/ops/integer_element.h"
#include "runtime/ops/sizes.h"

namespace trimtab {
namespace {

class Expand final : public OperatorOf<ExpandAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    if (source() == SizeSource::kTensor) {
      SetDims(Computed(), &y.dims);
      if (y.Count() <= 0) return;
    }
    ptrdiff_t from[Dims::kMaxRank], to[Dims::kMaxRank];
    LogicalStrides(x, from);
    LogicalStrides(y, to);
    StridedCopy copy(y.element_size());
    const int missing = y.dims.rank - x.dims.rank;
    for (int i = 0; i < y.dims.rank; ++i) {
      const bool repeats = i < missing || x.dims[i - missing] == 1;
      copy.AddAxis(y.dims[i], repeats ? 0 : from[i - missing], to[i]);
    }
    copy.Run(x.raw, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    if (source() == SizeSource::kTensor) return InferLargest();
    const Dims& dims = input(0).dims;
    const IntList& shape = attributes().shape;
    const bool has_terms = source() == SizeSource::kTerms;
    const uint32_t count = has_terms ? shape.size / kTermNumbers : shape.size;
    TRIMTAB_CHECK(count <= Dims::kMaxRank, "too many dimensions", count);
    int32_t terms[Dims::kMaxRank];
    if (has_terms) TRIMTAB_RETURN_IF_ERROR(ComputeTerms(shape, input(2).dims, count, terms));
    const int asked = static_cast<int>(count);
    Dims& result = output().dims;
    result.rank = asked > dims.rank ? asked : dims.rank;
    for (int i = 1; i <= result.rank; ++i) {
      const int64_t have = i <= dims.rank ? dims[dims.rank - i] : 1;
      const auto place = static_cast<size_t>(asked - i);
      const int64_t want = i > asked ? 1 : has_terms ? terms[place] : shape[place];
      TRIMTAB_CHECK(Fits(have, want), "a dimension cannot be broadcast (from, to)", have, want);
      result[result.rank - i] = static_cast<int32_t>(have == 1 ? want : have);
    }
    return Status();
  }

 private:
  SizeSource source() const { return SizeSourceOf<ExpandAttributes>(has_input(1), has_input(2)); }

  // As in ONNX, a 1 in `shape` keeps the input's dimension.
  static bool Fits(int64_t have, int64_t want) {
    return want >= 0 && want <= INT32_MAX && (have == 1 || want == 1 || have == want);
  }

  Status InferLargest() {
    TRIMTAB_RETURN_IF_ERROR(SetAttribute(attributes().shape, &output().dims));
    const Dims &y = output().dims, &shape = input(1).dims;
    TRIMTAB_CHECK(shape.rank == 1 && shape[0] <= y.rank && input(0).dims.rank <= y.rank,
                  "there must be a size for each dimension (dimensions)", y.rank);
    return Status();
  }

  // The broadcast sizes; negative where they do not fit.
  Dims Computed() const {
    const Dims& x = input(0).dims;
    Dims sizes;
    sizes.rank = output().dims.rank;
    const int asked = input(1).dims[0];
    for (int i = 1; i <= sizes.rank; ++i) {
      const int64_t have = i <= x.rank ? x[x.rank - i] : 1;
      const int64_t want =
          i <= asked ? IntegerElement(input(1), static_cast<size_t>(asked - i)) : 1;
      sizes[sizes.rank - i] = static_cast<int32_t>(!Fits(have, want) ? -1
                                                   : have == 1       ? want
                                                                     : have);
    }
    return sizes;
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Expand)
