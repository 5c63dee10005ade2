// Weights as stored in a file: f32, f16 or int8, in panels of columns without padding.
#ifndef TRIMTAB_OPS_STORED_WEIGHTS_H_
#define TRIMTAB_OPS_STORED_WEIGHTS_H_

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace trimtab {

// Checks that `stored` holds all its elements, and gives `packed`, the packed weights, a size of
// `elements` elements.
Status CheckPacking(const Tensor& stored, int64_t elements, Tensor* packed);
// The same for weights that are not int8.
Status CheckFloatPacking(const Tensor& stored, int64_t elements, Tensor* packed);
// The same for weights that are int8, of which each column has a scale.
Status CheckInt8Packing(const Tensor& stored, int64_t columns, int64_t elements, Tensor* packed);

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
  // Copies rows of int8; `column` is that of their first element.
  template <typename T>
  void CopyScaled(size_t column, T* to, size_t panel) const;
};

// What an operator that packs calls: `is_int8` is its attribute, a constant in most binaries, which
// then have no code for the other type.
inline Status CheckPacking(bool is_int8, const Tensor& stored, int64_t columns, int64_t elements,
                           Tensor* packed) {
  return is_int8 ? CheckInt8Packing(stored, columns, elements, packed)
                 : CheckFloatPacking(stored, elements, packed);
}

template <typename T>
void CopyStored(bool is_int8, const StoredRows& rows, size_t column, T* to, size_t panel) {
  if (is_int8)
    rows.CopyScaled(column, to, panel);
  else
    rows.CopyTo(to, panel);
}

template <typename T>
const T* GetStored(bool is_int8, const StoredRows& rows, size_t column, T* scratch, size_t panel) {
  if (!is_int8) return rows.Get(scratch, panel);
  rows.CopyScaled(column, scratch, panel);
  return scratch;
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_STORED_WEIGHTS_H_
