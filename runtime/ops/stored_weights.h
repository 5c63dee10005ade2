// Weights as stored in a file, in panels of columns without padding: f32, f16, int8, or indices of a
// palette.
#ifndef TRIMTAB_OPS_STORED_WEIGHTS_H_
#define TRIMTAB_OPS_STORED_WEIGHTS_H_

#include "generated/element_sizes.h"
#include "runtime/core/operator.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace trimtab {

// Checks that `stored` holds all its elements, and gives `packed`, the packed weights, a size of
// `elements` elements.
Status CheckPacking(const Tensor& stored, int64_t elements, Tensor* packed);
// The same for weights that are floats.
Status CheckFloatPacking(const Tensor& stored, int64_t elements, Tensor* packed);
// The same for weights that are int8, of which each column has a scale.
Status CheckInt8Packing(const Tensor& stored, int64_t columns, int64_t elements, Tensor* packed);
// The same for indices of a palette; `packed` has the dimensions of the weights.
Status CheckPalettePacking(const Tensor& stored, int64_t columns, int64_t elements, Tensor* packed);

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
  // Copies rows of indices of a palette; there are `columns` of them.
  template <typename T>
  void CopyColored(size_t column, size_t columns, T* to, size_t panel) const;
};

// An operator that packs. Whether its weights have scales is a constant in most binaries, which then
// have no code for the other case.
template <typename Attributes>
class PackOf : public OperatorOf<Attributes> {
 protected:
  using OperatorOf<Attributes>::attributes;
  using OperatorOf<Attributes>::input;
  using OperatorOf<Attributes>::output;

  // The tensor with the dimensions of the weights: a palette and its indices are plain bytes.
  const Tensor& weights() const { return has_palette() ? output() : input(0); }

  Status CheckPacking(int64_t columns, int64_t elements) {
    if (has_palette()) return CheckPalettePacking(input(0), columns, elements, &output());
    return attributes().scaled ? CheckInt8Packing(input(0), columns, elements, &output())
                               : CheckFloatPacking(input(0), elements, &output());
  }

  // Copies rows, of which the first element is in `column` of `columns`.
  template <typename T>
  void Copy(const StoredRows& rows, size_t column, size_t columns, T* to, size_t panel) const {
    if (has_palette())
      rows.CopyColored(column, columns, to, panel);
    else if (attributes().scaled)
      rows.CopyScaled(column, to, panel);
    else
      rows.CopyTo(to, panel);
  }

  template <typename T>
  const T* Get(const StoredRows& rows, size_t column, size_t columns, T* scratch,
               size_t panel) const {
    if (!attributes().scaled) return rows.Get(scratch, panel);
    Copy(rows, column, columns, scratch, panel);
    return scratch;
  }

 private:
  bool has_palette() const { return kHasU8 && attributes().scaled && input(0).dtype == DType::kU8; }
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_STORED_WEIGHTS_H_
