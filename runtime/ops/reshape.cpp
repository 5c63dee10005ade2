#include "generated/attributes/reshape.h"

#include "runtime/ops/integer_element.h"
#include "runtime/ops/sizes.h"

namespace trimtab {
namespace {

class Reshape final : public OperatorOf<ReshapeAttributes> {
 public:
  // The executor lets the result share the input's memory (`view` in the schema).
  void Run(ThreadPool&) override {
    if (source() != SizeSource::kTensor) return;
    const Dims& x = input(0).dims;
    Dims sizes;
    sizes.rank = output().dims.rank;
    for (int i = 0; i < sizes.rank; ++i) {
      const int64_t size = IntegerElement(input(1), static_cast<size_t>(i));
      const bool fits = size >= -1 && size <= kMaxElements;
      sizes[i] = size == 0 && i < x.rank ? x[i] : fits ? static_cast<int32_t>(size) : kInvalid;
    }
    if (!SetRest(x.Count(), &sizes)) sizes[0] = -1;
    SetDims(sizes, &output().dims);
  }

 protected:
  Status InferShape() override {
    const IntList& shape = attributes().shape;
    Dims& dims = output().dims;
    if (source() == SizeSource::kTensor) {
      TRIMTAB_RETURN_IF_ERROR(SetAttribute(shape, &dims));
      const Dims& sizes = input(1).dims;
      TRIMTAB_CHECK(sizes.rank == 1 && sizes[0] == dims.rank && dims.rank > 0,
                    "there must be a size for each dimension (dimensions)", dims.rank);
      return Status();
    }
    if (source() == SizeSource::kTerms) {
      const uint32_t count = shape.size / kTermNumbers;
      TRIMTAB_CHECK(count <= Dims::kMaxRank, "too many dimensions", count);
      dims.rank = static_cast<int>(count);
      TRIMTAB_RETURN_IF_ERROR(ComputeTerms(shape, input(2).dims, count, dims.d));
      SetRest(input(0).Count(), &dims);
    } else {
      TRIMTAB_RETURN_IF_ERROR(SetAttribute(shape, &dims));
    }
    TRIMTAB_CHECK(dims.Count() == input(0).Count(), "the number of elements changes (from, to)",
                  input(0).Count(), dims.Count());
    return Status();
  }

 private:
  static constexpr int32_t kInvalid = -2;

  SizeSource source() const { return SizeSourceOf<ReshapeAttributes>(has_input(1), has_input(2)); }

  // A size of -1 takes the remaining of `elements`. False if the sizes have another number.
  static bool SetRest(int64_t elements, Dims* sizes) {
    int rest = -1;
    int64_t product = 1;
    for (int i = 0; i < sizes->rank; ++i) {
      const int32_t size = (*sizes)[i];
      if (size == -1 && rest < 0) {
        rest = i;
      } else if (size < 0 || (size > 0 && product > kMaxElements / size)) {
        return false;
      } else {
        product *= size;
      }
    }
    if (rest >= 0) (*sizes)[rest] = product > 0 ? static_cast<int32_t>(elements / product) : 0;
    return sizes->Count() == elements;
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Reshape)
