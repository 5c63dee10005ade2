// Boxes and labels of a network with a head, as structs. They use only the rest of the API, and are
// a file of their own, so that a linker leaves them out of programs that do not use them.
#include <string.h>

#include "runtime/api/trimtab.h"

namespace {

enum { kF32 = 1, kU8 = 4, kI32 = 5, kBoxValues = 6, kPointValues = 3 };

// The outputs of a head, in their order; `data` of those that the network lacks is null.
struct HeadOutputs {
  trimtab_tensor boxes = {}, count = {}, points = {}, labels = {};
};

HeadOutputs Find(const trimtab_model* model) {
  HeadOutputs found;
  for (uint32_t i = 0; i < trimtab_output_count(model); ++i) {
    trimtab_tensor t;
    if (trimtab_output(model, i, &t) != TRIMTAB_OK) continue;
    if (t.dtype == kF32 && t.rank == 3 && t.dims[2] == kBoxValues && found.boxes.data == nullptr) {
      found.boxes = t;
    } else if (t.dtype == kI32 && t.rank == 1 && found.boxes.data != nullptr &&
               t.dims[0] == found.boxes.dims[0] && found.count.data == nullptr) {
      found.count = t;
    } else if (t.dtype == kF32 && t.rank == 4 && t.dims[3] == kPointValues &&
               found.boxes.data != nullptr && t.dims[0] == found.boxes.dims[0] &&
               t.dims[1] == found.boxes.dims[1]) {
      found.points = t;
    } else if (t.dtype == kU8 && t.rank == 1 && t.bytes > 0) {
      found.labels = t;
    }
  }
  return found;
}

int32_t CountOf(const HeadOutputs& outputs, int32_t image) {
  if (outputs.count.data == nullptr || image < 0 || image >= outputs.boxes.dims[0]) return 0;
  const int32_t count = static_cast<const int32_t*>(outputs.count.data)[image];
  return count < 0 ? 0 : count < outputs.boxes.dims[1] ? count : outputs.boxes.dims[1];
}

// The label at an index, of texts that each end with a zero; "" if there is none.
const char* LabelOf(const trimtab_tensor& labels, int32_t index) {
  const auto* text = static_cast<const char*>(labels.data);
  if (text == nullptr || index < 0) return "";
  const char* const end = text + labels.bytes;
  for (;; --index) {
    const auto* const zero =
        static_cast<const char*>(memchr(text, 0, static_cast<size_t>(end - text)));
    if (zero == nullptr) return "";
    if (index == 0) return text;
    text = zero + 1;
  }
}

}  // namespace

int32_t trimtab_box_count(const trimtab_model* model, int32_t image) {
  return CountOf(Find(model), image);
}

int trimtab_box_at(const trimtab_model* model, int32_t image, int32_t index, trimtab_box* box) {
  const HeadOutputs outputs = Find(model);
  if (index < 0 || index >= CountOf(outputs, image)) return TRIMTAB_BAD_ARGUMENT;
  const size_t row = static_cast<size_t>(image) * static_cast<size_t>(outputs.boxes.dims[1]) +
                     static_cast<size_t>(index);
  const float* const values = static_cast<const float*>(outputs.boxes.data) + row * kBoxValues;
  box->xmin = values[0];
  box->ymin = values[1];
  box->xmax = values[2];
  box->ymax = values[3];
  box->score = values[4];
  // Any number may be in a damaged result.
  box->class_index = values[5] >= 0 && values[5] < 0x1p24f ? static_cast<int32_t>(values[5]) : -1;
  box->label = LabelOf(outputs.labels, box->class_index);
  box->points = nullptr;
  box->point_count = 0;
  if (outputs.points.data != nullptr) {
    box->point_count = outputs.points.dims[2];
    box->points = static_cast<const float*>(outputs.points.data) +
                  row * static_cast<size_t>(box->point_count) * kPointValues;
  }
  return TRIMTAB_OK;
}

const char* trimtab_label(const trimtab_model* model, int32_t class_index) {
  return LabelOf(Find(model).labels, class_index);
}
