/* Finds objects, faces or people in pictures or frames: boxes MODEL.ttm FILE...
 *
 * The model is a detector with a head, behind a camera whose frames may differ in size (README.md).
 * FILE is a picture (binary PPM) or a frame of the camera's format without a header, such as NV12 of
 * the camera's largest size. Each box is a line: label, score, left, top, right, bottom, and x, y,
 * score of its keypoints, in pixels of the picture. */
#include <stdio.h>
#include <stdlib.h>

#include "trimtab.h"

static int fail(const char* what, const char* why) {
  fprintf(stderr, "boxes: %s: %s\n", what, why);
  return 1;
}

/* The bytes of a file; null if it cannot be read. */
static unsigned char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  unsigned char* data = NULL;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0 && ftell(file) > 0) {
    *size = (size_t)ftell(file);
    rewind(file);
    data = malloc(*size + 1);
    if (data != NULL && fread(data, 1, *size, file) == *size) {
      data[*size] = 0; /* ends a header */
    } else {
      free(data);
      data = NULL;
    }
  }
  if (file != NULL) fclose(file);
  return data;
}

/* Gives the model a picture or a frame, which stays in place. */
static int set(trimtab_model* model, const unsigned char* data, size_t size) {
  int width, height, begin = 0;
  if (sscanf((const char*)data, "P6 %d %d 255%n", &width, &height, &begin) != 2 || begin == 0)
    return trimtab_set_input(model, 0, data, size);
  const size_t bytes = (size_t)width * (size_t)height * 3;
  if (width < 1 || height < 1 || size - (size_t)begin - 1 < bytes) return TRIMTAB_BAD_ARGUMENT;
  trimtab_image image = {0};
  image.format = TRIMTAB_RGB;
  image.width = width;
  image.height = height;
  image.planes[0] = data + begin + 1;
  return trimtab_set_image(model, 0, &image);
}

static void print_boxes(const trimtab_model* model) {
  for (int32_t i = 0; i < trimtab_box_count(model, 0); ++i) {
    trimtab_box box;
    if (trimtab_box_at(model, 0, i, &box) != TRIMTAB_OK) return;
    printf("%s %.4f %.2f %.2f %.2f %.2f", box.label, box.score, box.xmin, box.ymin, box.xmax,
           box.ymax);
    for (int32_t k = 0; k < 3 * box.point_count; ++k) printf(" %.3f", box.points[k]);
    printf("\n");
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return fail("usage", "boxes MODEL.ttm FILE...");
  trimtab_model* model;
  char why[256];
  if (trimtab_open_file(argv[1], NULL, &model, why, sizeof why) != TRIMTAB_OK)
    return fail(argv[1], why);
  int failed = 0;
  for (int i = 2; i < argc && !failed; ++i) {
    size_t size = 0;
    unsigned char* data = read_file(argv[i], &size);
    if (data == NULL) {
      failed = fail(argv[i], "cannot be read");
    } else if (set(model, data, size) != TRIMTAB_OK || trimtab_run(model) != TRIMTAB_OK) {
      failed = fail(argv[i], trimtab_last_error(model));
    } else {
      print_boxes(model);
    }
    free(data);
  }
  trimtab_close(model);
  return failed;
}
