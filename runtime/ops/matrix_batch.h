// Batches of matrices as numpy.matmul broadcasts them, and their packing for GEMMs: the common part
// of products of computed operands.
#ifndef TRIMTAB_OPS_MATRIX_BATCH_H_
#define TRIMTAB_OPS_MATRIX_BATCH_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"

namespace trimtab {

// Computes an operand's matrices per index of the result's batch dimensions `batch` (0: broadcast),
// which it extends. `matrix_rank`: dimensions of the operand's matrix, whose others are aligned at
// the right. False if they do not broadcast.
bool BatchSteps(const Dims& dims, int matrix_rank, Dims* batch, size_t* steps);

// The matrix of an operand that makes matrix `index` of the result.
size_t MatrixAt(size_t index, const Dims& batch, const size_t* steps);

// Packs a matrix [depth, columns], stored [columns, depth] if `transposed`, into panels
// [panel][depth][nr] that end with zeros.
template <typename T>
void PackMatrix(const T* matrix, int32_t depth, int32_t columns, bool transposed, size_t nr,
                T* panels, ThreadPool& pool);

}  // namespace trimtab

#endif  // TRIMTAB_OPS_MATRIX_BATCH_H_
