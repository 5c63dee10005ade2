/* frames MODEL FRAME WIDTH HEIGHT: boxes of an I420 file in each arrangement of its planes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detector.h"

static int show(trimtab_model* model, const char* name, const yuv_frame* frame) {
  if (detect(model, frame) != TRIMTAB_OK) {
    printf("%s refused %s\n", name, trimtab_last_error(model));
    return 1;
  }
  for (int32_t i = 0; i < trimtab_box_count(model, 0); ++i) {
    trimtab_box b;
    trimtab_box_at(model, 0, i, &b);
    printf("%s|%s %f %f %f %f %f\n", name, b.label, b.score, b.xmin, b.ymin, b.xmax, b.ymax);
  }
  return 0;
}

int main(int argc, char** argv) {
  trimtab_model* model;
  char why[256];
  if (argc != 5 || trimtab_open_file(argv[1], NULL, &model, why, sizeof why) != TRIMTAB_OK)
    return 2;
  const int width = atoi(argv[3]), height = atoi(argv[4]), places = width / 2 * (height / 2);
  uint8_t *y = malloc((size_t)places * 6), *pairs = malloc((size_t)places * 2);
  FILE* file = fopen(argv[2], "rb");
  if (file == NULL || y == NULL || pairs == NULL ||
      fread(y, 6, (size_t)places, file) < (size_t)places)
    return 2;
  fclose(file);
  const uint8_t *u = y + 4 * places, *v = u + places;
  yuv_frame frame = {width, height, {y, u, v}, {width, width / 2, width / 2}, {1, 1, 1}};
  show(model, "i420", &frame);
  for (int first = 0; first < 2; ++first) { /* U or V */
    for (int i = 0; i < places; ++i) {
      pairs[2 * i + first] = u[i];
      pairs[2 * i + 1 - first] = v[i];
    }
    const yuv_frame pair = {
        width, height, {y, pairs + first, pairs + 1 - first}, {width, width, width}, {1, 2, 2}};
    show(model, first ? "nv21" : "nv12", &pair);
  }
  frame.pixel_strides[1] = 3;
  return show(model, "other", &frame) ? 0 : 1;
}
