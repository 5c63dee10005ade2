// Weights as a file holds them: f32 or f16, in panels of columns without padding.
#ifndef TRIMTAB_OPS_STORED_WEIGHTS_H_
#define TRIMTAB_OPS_STORED_WEIGHTS_H_

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace trimtab {

// Checks that `stored` holds all its elements, and gives `made`, which packs them, so many floats.
Status CheckPacking(const Tensor& stored, int64_t floats, Tensor* made);

// Rows of `width` stored elements that follow each other, from number `first` on.
struct StoredRows {
  const Tensor& stored;
  size_t first, rows, width;

  // The rows in rows of `panel` floats, of which those past `width` are zeros.
  void CopyTo(float* to, size_t panel) const;
  // The same, in the file itself where they are floats and fill their panel, else copied to
  // `scratch`.
  const float* Get(float* scratch, size_t panel) const;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_STORED_WEIGHTS_H_
