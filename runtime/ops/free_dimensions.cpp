#include "runtime/ops/free_dimensions.h"

namespace trimtab {

Status SizeTerms::Compute(const Dims& dims, uint32_t count, int32_t* sizes) const {
  // Products and sums of these stay within 64 bits.
  constexpr int64_t kMaxTerm = int64_t{1} << 31;
  TRIMTAB_CHECK(count <= kMaxFreeSizes, "too many sizes", count);
  TRIMTAB_CHECK(
      free.size == count && multiply.size == count && add.size == count && divide.size == count,
      "the lists of sizes differ in length (expected, sizes)", count, free.size);
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t dimension = free[i], q = divide[i];
    TRIMTAB_CHECK(dimension >= -1 && dimension < dims.rank - 1, "no such free dimension",
                  dimension);
    TRIMTAB_CHECK(multiply[i] >= -kMaxTerm && multiply[i] <= kMaxTerm && add[i] >= -kMaxTerm &&
                      add[i] <= kMaxTerm && q > 0 && q <= kMaxTerm,
                  "the term of a size is out of range (size)", i);
    const int64_t known = dimension < 0 ? 0 : dims[static_cast<int>(dimension) + 1];
    const int64_t sum = known * multiply[i] + add[i];
    const int64_t size = sum / q - (sum % q < 0);
    TRIMTAB_CHECK(size >= -1 && size <= INT32_MAX, "a size is out of range (size)", size);
    sizes[i] = static_cast<int32_t>(size);
  }
  return Status();
}

}  // namespace trimtab
