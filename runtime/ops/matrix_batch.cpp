#include "runtime/ops/matrix_batch.h"

#include <string.h>

#include "runtime/core/strided_copy.h"

namespace trimtab {

bool BatchSteps(const Dims& dims, int matrix_rank, Dims* batch, size_t* steps) {
  size_t matrices = 1;
  for (int i = batch->rank - 1, j = dims.rank - matrix_rank - 1; i >= 0; --i, --j) {
    const int32_t size = j >= 0 ? dims[j] : 1;
    steps[i] = size == 1 ? 0 : matrices;
    matrices *= static_cast<size_t>(size);
    if (size == 1) continue;
    if ((*batch)[i] != 1 && (*batch)[i] != size) return false;
    (*batch)[i] = size;
  }
  return true;
}

size_t MatrixAt(size_t index, const Dims& batch, const size_t* steps) {
  size_t matrix = 0;
  for (int i = batch.rank - 1; i >= 0; --i) {
    const auto size = static_cast<size_t>(batch[i]);
    matrix += index % size * steps[i];
    index /= size;
  }
  return matrix;
}

template <typename T>
void PackMatrix(const T* matrix, int32_t depth, int32_t columns, bool transposed, size_t nr,
                T* panels, ThreadPool& pool) {
  const ptrdiff_t row = transposed ? 1 : columns, column = transposed ? depth : 1;
  const auto width = static_cast<int32_t>(nr);
  const int32_t whole = columns / width, rest = columns % width;
  // All whole panels, and then the last one if it is narrower.
  for (int32_t count = whole, used = width;; count = 1, used = rest) {
    StridedCopy copy(sizeof(T));
    copy.AddAxis(count, width * column, width * static_cast<ptrdiff_t>(depth));
    copy.AddAxis(depth, row, width);
    copy.AddAxis(used, column, 1);
    copy.Run(matrix, panels, pool);
    if (rest == 0 || used == rest) return;
    matrix += whole * width * column;
    panels += static_cast<size_t>(whole) * static_cast<size_t>(depth) * nr;
    memset(panels, 0, static_cast<size_t>(depth) * nr * sizeof(T));
  }
}

template void PackMatrix(const float*, int32_t, int32_t, bool, size_t, float*, ThreadPool&);
template void PackMatrix(const Half*, int32_t, int32_t, bool, size_t, Half*, ThreadPool&);

}  // namespace trimtab
