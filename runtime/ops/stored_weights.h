// Weights as stored in a file: f32 or f16, in panels of columns without padding.
#ifndef TRIMTAB_OPS_STORED_WEIGHTS_H_
#define TRIMTAB_OPS_STORED_WEIGHTS_H_

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace trimtab {

// Checks that `stored` holds all its elements, and gives `packed`, the packed weights, a size of
// `elements` elements.
Status CheckPacking(const Tensor& stored, int64_t elements, Tensor* packed);

// Consecutive rows of `width` stored elements, from row `first` on.
struct StoredRows {
  const Tensor& stored;
  size_t first, rows, width;

  // Copies the rows into rows of `panel` elements, padded with zeros. T is the computed type: the
  // stored type, or float.
  template <typename T>
  void CopyTo(T* to, size_t panel) const;
  // Returns the rows in the file itself if they have this type and fill their panel, else a copy in
  // `scratch`.
  template <typename T>
  const T* Get(T* scratch, size_t panel) const;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_STORED_WEIGHTS_H_
