// Weights as a file holds them: f32 or f16, in panels of columns without padding.
#ifndef TRIMTAB_OPS_STORED_WEIGHTS_H_
#define TRIMTAB_OPS_STORED_WEIGHTS_H_

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace trimtab {

// Checks that `stored` holds all its elements, and gives `made`, which packs them, so many elements.
Status CheckPacking(const Tensor& stored, int64_t elements, Tensor* made);

// Rows of `width` stored elements that follow each other, from number `first` on.
struct StoredRows {
  const Tensor& stored;
  size_t first, rows, width;

  // The rows in rows of `panel` elements, of which those past `width` are zeros. T is what is
  // computed with: the stored type, or float.
  template <typename T>
  void CopyTo(T* to, size_t panel) const;
  // The same, in the file itself where they are of this type and fill their panel, else copied to
  // `scratch`.
  template <typename T>
  const T* Get(T* scratch, size_t panel) const;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_STORED_WEIGHTS_H_
