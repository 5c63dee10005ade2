#include "detector.h"

static trimtab_image image_of(const yuv_frame* frame) {
  trimtab_image image = {0};
  const uint8_t *u = frame->planes[1], *v = frame->planes[2];
  image.width = frame->width;
  image.height = frame->height;
  image.planes[0] = frame->planes[0];
  image.strides[0] = frame->row_strides[0];
  image.strides[1] = frame->row_strides[1];
  if (frame->pixel_strides[1] == 1 && frame->pixel_strides[2] == 1) {
    image.format = TRIMTAB_I420;
    image.planes[1] = u;
    image.planes[2] = v;
    image.strides[2] = frame->row_strides[2];
  } else if (frame->pixel_strides[1] == 2 && v == u + 1) {
    image.format = TRIMTAB_NV12; /* U and V in turn, from the address of U */
    image.planes[1] = u;
  } else if (frame->pixel_strides[1] == 2 && u == v + 1) {
    image.format = TRIMTAB_NV21;
    image.planes[1] = v;
  }
  return image;
}

int detect(trimtab_model* model, const yuv_frame* frame) {
  const trimtab_image image = image_of(frame);
  if (image.format == TRIMTAB_MODEL_FORMAT || frame->pixel_strides[0] != 1)
    return TRIMTAB_BAD_ARGUMENT;
  const int status = trimtab_set_image(model, 0, &image); /* pixels are not copied */
  return status == TRIMTAB_OK ? trimtab_run(model) : status;
}
