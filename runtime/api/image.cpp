// Images of a camera as inputs. A file of its own, so that a linker leaves it out of programs that do
// not use it.
#include "runtime/api/model.h"

int trimtab_set_image(trimtab_model* model, uint32_t index, const trimtab_image* image) {
  trimtab::Frame frame;
  // TRIMTAB_MODEL_FORMAT becomes -1; unsigned, because the format may be any number.
  frame.format = static_cast<int32_t>(static_cast<uint32_t>(image->format) - TRIMTAB_NV12);
  frame.width = image->width;
  frame.height = image->height;
  const int32_t crop[] = {image->crop_top, image->crop_left, image->crop_height, image->crop_width};
  for (int i = 0; i < 4; ++i) frame.region[i] = crop[i];
  for (int i = 0; i < 3; ++i) {
    frame.planes[i] = static_cast<const uint8_t*>(image->planes[i]);
    frame.strides[i] = image->strides[i];
  }
  return trimtab::Report(model, model->executor.SetFrame(index, frame));
}
