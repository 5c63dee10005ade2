/* host PLUGIN.so MODEL.ttm < input > output: a C program that runs a network with an operator of a
 * shared library. */
#include <stdio.h>
#include <stdlib.h>

#include "trimtab.h"

int main(int argc, char** argv) {
  char why[512];
  trimtab_library* library;
  trimtab_model* model;
  trimtab_tensor x, y;
  float* image;
  if (argc != 3) return 2;
  if (trimtab_load_plugin(argv[1], &library, why, sizeof why) != 0 ||
      trimtab_open_file(argv[2], NULL, &model, why, sizeof why) != 0) {
    fprintf(stderr, "%s\n", why);
    return 1;
  }
  trimtab_input(model, 0, &x);
  image = malloc(x.bytes);
  if (image == NULL || fread(image, 1, x.bytes, stdin) != x.bytes) return 1;
  trimtab_set_input(model, 0, image, x.bytes);
  if (trimtab_run(model) != 0) return 1;
  trimtab_output(model, 0, &y);
  fwrite(y.data, 1, y.bytes, stdout);
  /* It is an error while a model uses it. */
  if (trimtab_unload_plugin(library) != TRIMTAB_BAD_ARGUMENT) return 3;
  trimtab_close(model);
  free(image);
  return trimtab_unload_plugin(library);
}
