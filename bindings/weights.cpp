#include "bindings/weights.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "runtime/api/trimtab.h"

namespace py = pybind11;

namespace {

using Doubles = py::array_t<double, py::array::c_style>;
using Bytes = py::array_t<uint8_t, py::array::c_style>;
using Floats = py::array_t<float, py::array::c_style>;

// Sizes of weights [group][column][channel][tap].
struct Sizes {
  size_t groups, columns, channels, taps;
  size_t depth() const { return channels * taps; }
};

constexpr size_t kColumns = 32, kElements = 128;  // of a part that is copied at once

// Writes `count` columns from `from` on side by side: [tap][channel][width]. Columns lie powers of
// two apart, so that their lines compete for few sets of the caches: parts of them are first copied
// to where they do not.
template <typename T>
void StoreColumns(const T* from, const Sizes& sizes, size_t count, size_t width, T* to) {
  T part[kColumns][kElements];
  const size_t depth = sizes.depth(), taps = sizes.taps;
  const size_t run = std::max<size_t>(kElements / taps, 1);
  for (size_t first = 0; first < sizes.channels; first += run) {
    const size_t channels = std::min(run, sizes.channels - first);
    const T* element = from + first * taps;
    size_t step = depth;
    if (channels * taps <= kElements) {
      for (size_t i = 0; i < count; ++i) std::copy_n(element + i * depth, channels * taps, part[i]);
      element = part[0];
      step = kElements;
    }
    for (size_t tap = 0; tap < taps; ++tap) {
      for (size_t channel = 0; channel < channels; ++channel) {
        const T* const column = element + channel * taps + tap;
        T* const row = to + (tap * sizes.channels + first + channel) * width;
        for (size_t i = 0; i < count; ++i) row[i] = column[i * step];
      }
    }
  }
}

// Writes `count` columns, and zeros up to `width`.
template <typename T>
void StorePanel(const T* from, const Sizes& sizes, size_t count, size_t width, T* to) {
  for (size_t i = 0; i < count; i += kColumns)
    StoreColumns(from + i * sizes.depth(), sizes, std::min(kColumns, count - i), width, to + i);
  for (size_t row = 0; row < (count < width ? sizes.depth() : 0); ++row)
    std::fill(to + row * width + count, to + (row + 1) * width, T());
}

template <typename T>
void Store(const T* w, const Sizes& sizes, size_t panel, bool padded, T* y) {
  for (size_t group = 0; group < sizes.groups; ++group) {
    for (size_t column = 0; column < sizes.columns; column += panel) {
      const size_t count = std::min(panel, sizes.columns - column);
      const size_t width = padded ? panel : count;
      StorePanel(w + column * sizes.depth(), sizes, count, width, y);
      y += width * sizes.depth();
    }
    w += sizes.columns * sizes.depth();
  }
}

// w: [groups * columns][channels][taps...] in C order, of 1, 2, 4 or 8 bytes an element. Returns the
// flat panels [group][panel][tap][channel][column]: `panel` columns, and the remaining ones in the
// last panel, which zeros fill if `padded`.
py::array StorePanels(const py::array& w, size_t groups, size_t panel, bool padded) {
  if ((w.flags() & py::array::c_style) == 0 || w.ndim() < 2 || groups == 0 || panel == 0)
    throw std::invalid_argument("weights are a C-contiguous array of at least two dimensions");
  const size_t rows = static_cast<size_t>(w.shape(0)), channels = static_cast<size_t>(w.shape(1));
  size_t taps = 1;
  for (py::ssize_t i = 2; i < w.ndim(); ++i) taps *= static_cast<size_t>(w.shape(i));
  if (rows % groups != 0) throw std::invalid_argument("columns are not a multiple of the groups");
  const Sizes sizes = {groups, rows / groups, channels, taps};
  const size_t stored = padded ? (sizes.columns + panel - 1) / panel * panel : sizes.columns;
  py::array y(w.dtype(), groups * stored * sizes.depth());
  void* const out = y.mutable_data();
  const void* const in = w.data();
  const auto item = w.itemsize();
  const py::gil_scoped_release release;
  switch (item) {
    case 1:
      Store(static_cast<const uint8_t*>(in), sizes, panel, padded, static_cast<uint8_t*>(out));
      break;
    case 2:
      Store(static_cast<const uint16_t*>(in), sizes, panel, padded, static_cast<uint16_t*>(out));
      break;
    case 4:
      Store(static_cast<const uint32_t*>(in), sizes, panel, padded, static_cast<uint32_t*>(out));
      break;
    case 8:
      Store(static_cast<const uint64_t*>(in), sizes, panel, padded, static_cast<uint64_t*>(out));
      break;
    default:
      throw std::invalid_argument("elements have 1, 2, 4 or 8 bytes");
  }
  return y;
}

// w: float32[rows][...]; returns the products with the factor of each row, rounded from double.
Floats ScaledRows(const Floats& w, const Doubles& factors) {
  const size_t rows = static_cast<size_t>(factors.size());
  if (rows == 0 || w.ndim() == 0 || static_cast<size_t>(w.size()) % rows != 0)
    throw std::invalid_argument("one factor per row is needed");
  const size_t row = static_cast<size_t>(w.size()) / rows;
  Floats y(std::vector<py::ssize_t>(w.shape(), w.shape() + w.ndim()));
  const float* in = w.data();
  const double* const factor = factors.data();
  float* out = y.mutable_data();
  const py::gil_scoped_release release;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < row; ++j) out[j] = static_cast<float>(in[j] * factor[i]);
    in += row;
    out += row;
  }
  return y;
}

// Codes the symbols of a panel, the last one first, as CodedPanels of
// runtime/ops/stored_weights.h decodes them: appends the state and what refills it to `code`.
void CodePanel(const uint8_t* symbols, size_t count, const std::vector<uint32_t>& counts,
               const std::vector<uint32_t>& firsts, std::vector<uint16_t>& code) {
  const size_t begin = code.size();
  uint64_t state = uint64_t{1} << 16;
  while (count > 0) {
    const uint64_t slots = counts[symbols[--count]], first = firsts[symbols[count]];
    if (state >= slots << 20) {
      code.push_back(static_cast<uint16_t>(state));
      state >>= 16;
    }
    state = state / slots << 12 | (state % slots + first);
  }
  code.push_back(static_cast<uint16_t>(state));
  code.push_back(static_cast<uint16_t>(state >> 16));
  std::reverse(code.begin() + static_cast<std::ptrdiff_t>(begin), code.end());
}

// symbols: of all panels, which have `sizes` of them; counts: slots of each symbol, 4096 in all.
// Returns the code, and the place of each panel in it in bytes.
py::tuple CodedPanels(const Bytes& symbols, const std::vector<size_t>& sizes,
                      const std::vector<uint32_t>& counts) {
  std::vector<uint32_t> firsts(counts.size()), starts;
  for (size_t i = 1; i < counts.size(); ++i) firsts[i] = firsts[i - 1] + counts[i - 1];
  size_t left = static_cast<size_t>(symbols.size());
  for (const size_t size : sizes) {
    if (size > left) throw std::invalid_argument("the panels have more symbols than there are");
    left -= size;
  }
  const uint8_t* from = symbols.data();
  for (py::ssize_t i = 0; i < symbols.size(); ++i)
    if (from[i] >= counts.size() || counts[from[i]] == 0)
      throw std::invalid_argument("a symbol has no slots");
  std::vector<uint16_t> code;
  {
    const py::gil_scoped_release release;
    for (const size_t size : sizes) {
      starts.push_back(static_cast<uint32_t>(code.size() * sizeof(uint16_t)));
      CodePanel(from, size, counts, firsts, code);
      from += size;
    }
  }
  const auto length = static_cast<py::ssize_t>(code.size());
  const auto panels = static_cast<py::ssize_t>(starts.size());
  return py::make_tuple(py::array_t<uint16_t>(length, code.data()),
                        py::array_t<uint32_t>(panels, starts.data()));
}

// The model file that a difference makes of an old one; ValueError if it cannot be applied.
py::array ApplyDelta(const Bytes& old, const Bytes& delta) {
  const auto size = [](const Bytes& bytes) { return static_cast<size_t>(bytes.size()); };
  size_t new_bytes = 0;
  trimtab_apply_delta(old.data(), size(old), delta.data(), size(delta), nullptr, &new_bytes);
  py::array_t<uint8_t> model(static_cast<py::ssize_t>(new_bytes));
  const int status = trimtab_apply_delta(old.data(), size(old), delta.data(), size(delta),
                                         model.mutable_data(), &new_bytes);
  if (status == TRIMTAB_BAD_ARGUMENT) throw std::invalid_argument("the old file is another one");
  if (status != TRIMTAB_OK) throw std::invalid_argument("the difference is damaged");
  return model;
}

}  // namespace

void DefineWeights(py::module_& module) {
  module.def("store_panels", &StorePanels, py::arg("w"), py::arg("groups"), py::arg("panel"),
             py::arg("padded"));
  module.def("coded_panels", &CodedPanels, py::arg("symbols"), py::arg("sizes"), py::arg("counts"));
  module.def("apply_delta", &ApplyDelta, py::arg("old"), py::arg("delta"));
  module.def("scaled_rows", &ScaledRows, py::arg("w"), py::arg("factors"));
}
