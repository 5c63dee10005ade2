/* Streams frames through a model that keeps states. Prints the code of each reset and the first output
 * of each run: of all frames, of all again after a reset, and of the first in a model of its own.
 *
 *   states MODEL FRAMES COUNT */
#include <stdio.h>
#include <stdlib.h>

#include "trimtab.h"

static void frame(trimtab_model* model, const char* data, size_t bytes) {
  trimtab_tensor y;
  if (trimtab_set_input(model, 0, data, bytes) != 0 || trimtab_run(model) != 0 ||
      trimtab_output(model, 0, &y) != 0) {
    fprintf(stderr, "%s\n", trimtab_last_error(model));
    exit(1);
  }
  printf("run");
  for (size_t i = 0; i < y.bytes / sizeof(float); ++i)
    printf(" %.9g", (double)((const float*)y.data)[i]);
  printf("\n");
}

int main(int argc, char** argv) {
  trimtab_model *model = NULL, *other = NULL;
  trimtab_tensor x;
  char why[256] = "";
  if (argc != 4) return 2;
  if (trimtab_open_file(argv[1], NULL, &model, why, sizeof why) != 0 ||
      trimtab_open_file(argv[1], NULL, &other, why, sizeof why) != 0) {
    fprintf(stderr, "%s\n", why);
    return 1;
  }
  trimtab_input(model, 0, &x);
  size_t count = (size_t)atoi(argv[3]);
  char* frames = malloc(x.bytes * count);
  FILE* file = fopen(argv[2], "rb");
  if (frames == NULL || file == NULL || fread(frames, x.bytes, count, file) != count) return 3;
  fclose(file);
  for (int pass = 0; pass < 2; ++pass) {
    int code = trimtab_reset(model);
    printf("reset %d %s\n", code, code != 0 ? trimtab_last_error(model) : "");
    for (size_t i = 0; i < count; ++i) frame(model, frames + i * x.bytes, x.bytes);
  }
  frame(other, frames, x.bytes);
  trimtab_close(model);
  trimtab_close(other);
  free(frames);
  return 0;
}
