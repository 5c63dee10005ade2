/* Files of pictures and frames as inputs of a model, for the programs of this folder. */
#ifndef IMAGE_FILE_H_
#define IMAGE_FILE_H_

#include <stdio.h>
#include <stdlib.h>

#include "trimtab.h"

static int fail(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
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

/* Runs the model on a file, calls `print`, and returns 0; or reports the error. */
static int run_file(trimtab_model* model, const char* path, void (*print)(const trimtab_model*)) {
  size_t size = 0;
  unsigned char* data = read_file(path, &size);
  int failed = 0;
  if (data == NULL) {
    failed = fail(path, "cannot be read");
  } else if (set(model, data, size) != TRIMTAB_OK || trimtab_run(model) != TRIMTAB_OK) {
    failed = fail(path, trimtab_last_error(model));
  } else {
    print(model);
  }
  free(data);
  return failed;
}

/* The rest of main: opens the model and runs it on all files. */
static int run_files(int argc, char** argv, void (*print)(const trimtab_model*)) {
  if (argc < 3) return fail("usage: PROGRAM MODEL.ttm FILE...", "a model and files are missing");
  trimtab_model* model;
  char why[256];
  if (trimtab_open_file(argv[1], NULL, &model, why, sizeof why) != TRIMTAB_OK)
    return fail(argv[1], why);
  int failed = 0;
  for (int i = 2; i < argc && !failed; ++i) failed = run_file(model, argv[i], print);
  trimtab_close(model);
  return failed;
}

#endif /* IMAGE_FILE_H_ */
