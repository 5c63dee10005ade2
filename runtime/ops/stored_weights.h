// Weights as stored in a file, in panels of columns without padding: f32, f16, or int8 with a scale
// for each column, which may be entropy coded.
#ifndef TRIMTAB_OPS_STORED_WEIGHTS_H_
#define TRIMTAB_OPS_STORED_WEIGHTS_H_

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
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

constexpr size_t kMaxPanel = 64;  // columns, by the schemas

// Rows of int8, and the scales of their columns.
struct ScaledRows {
  const int8_t* from;
  const float* scales;
  size_t rows, width;

  template <typename T>
  void CopyTo(T* to, size_t panel) const;
};

// Decoded weights, from element `first` and column `column` on.
struct DecodedPanel {
  const int8_t* steps;
  const float* scales;
  size_t first, column;
};

// Panels of int8 weights that are entropy coded by rANS (Duda 2013, arXiv:1311.2540), and the memory
// that decodes them. Any bytes decode to some weights.
class CodedPanels {
 public:
  // Checks coded weights in `panels` panels of at most `largest` elements. Adds to `bytes`, those of
  // the operator's scratch memory, what decodes `places` panels at once.
  Status SetUp(const Tensor& stored, int64_t columns, uint64_t panels, size_t largest,
               uint64_t places, uint64_t* bytes);
  // Reads the table of the code.
  void Read(const Tensor& stored, uint8_t* scratch) const;
  // Decodes the panel of that index, of `count` elements and `width` columns from `first` and
  // `column` on, into one of the places.
  void Open(const Tensor& stored, uint8_t* scratch, size_t index, size_t first, size_t count,
            size_t column, size_t width, size_t place) const;
  const DecodedPanel& panel(uint8_t* scratch, size_t place) const {
    return *reinterpret_cast<const DecodedPanel*>(scratch + places_at_ + place * place_bytes_);
  }

 private:
  size_t columns_, panels_;
  size_t table_at_, places_at_, place_bytes_;  // in the scratch memory
};

// An operator that packs. Whether its weights have scales and are coded are constants in most
// binaries, which then have no code for the other cases.
template <typename Attributes>
class PackOf : public OperatorOf<Attributes> {
 protected:
  using OperatorOf<Attributes>::attributes;
  using OperatorOf<Attributes>::input;
  using OperatorOf<Attributes>::output;

  bool is_scaled() const { return attributes().bits != 0; }
  bool is_coded() const { return is_scaled() && attributes().bits != 8; }

  // The tensor with the dimensions of the weights: coded ones are plain bytes.
  const Tensor& weights() const { return is_coded() ? output() : input(0); }

  // To be called after PrepareCode, if weights are coded.
  Status CheckPacking(int64_t columns, int64_t elements) {
    if (is_coded()) return trimtab::CheckPacking(input(0), elements, &output());
    return is_scaled() ? CheckInt8Packing(input(0), columns, elements, &output())
                       : CheckFloatPacking(input(0), elements, &output());
  }

  // Requests `bytes` of scratch memory, and behind them that of `places` panels for each thread.
  Status PrepareCode(int64_t columns, uint64_t panels, size_t largest, uint64_t bytes = 0,
                     uint64_t places = 1) {
    places *= static_cast<uint64_t>(this->threads());
    TRIMTAB_RETURN_IF_ERROR(coded_.SetUp(input(0), columns, panels, largest, places, &bytes));
    return this->RequestScratch(bytes);
  }

  // To be called before panels are opened.
  void ReadCode() {
    if (is_coded()) coded_.Read(input(0), this->template scratch<uint8_t>());
  }

  // Decodes a panel into one of the places, if weights are coded: others need not be opened.
  void Open(size_t index, size_t first, size_t count, size_t column, size_t width,
            size_t place) const {
    if (is_coded())
      coded_.Open(input(0), this->template scratch<uint8_t>(), index, first, count, column, width,
                  place);
  }

  // Copies rows of which the first element is in `column`; coded ones are of the panel in that place.
  template <typename T>
  void Copy(size_t place, const StoredRows& rows, size_t column, T* to, size_t panel) const {
    if (!is_scaled()) return rows.CopyTo(to, panel);
    ScaledRows scaled = {nullptr, nullptr, rows.rows, rows.width};
    if (is_coded()) {
      const DecodedPanel& open = coded_.panel(this->template scratch<uint8_t>(), place);
      scaled.from = open.steps + (rows.first - open.first);
      scaled.scales = open.scales + (column - open.column);
    } else {
      scaled.from = input(0).template data<int8_t>() + rows.first;
      scaled.scales = input(0).quantization->scales() + column;
    }
    scaled.CopyTo(to, panel);
  }

  template <typename T>
  const T* Get(size_t place, const StoredRows& rows, size_t column, T* scratch,
               size_t panel) const {
    if (!is_scaled()) return rows.Get(scratch, panel);
    Copy(place, rows, column, scratch, panel);
    return scratch;
  }

 private:
  CodedPanels coded_;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_STORED_WEIGHTS_H_
