/* Calls the C API at the limits of sizes and memory: opens a model, resizes its first input, and runs
 * it. Prints the code of each step and the error text.
 *
 *   limits MODEL MAX_MEMORY_BYTES [DIMENSION ...] */
#include <stdio.h>
#include <stdlib.h>

#include "trimtab.h"

static int say(const char* what, int code, const char* why) {
  printf("%s %d %s\n", what, code, code != 0 ? why : "");
  return code;
}

/* Runs with an input of zeros. */
static void run(trimtab_model* model) {
  trimtab_tensor input;
  trimtab_input(model, 0, &input);
  void* zeros = calloc(input.bytes + 1, 1);
  int code =
      zeros == NULL ? TRIMTAB_OUT_OF_MEMORY : trimtab_set_input(model, 0, zeros, input.bytes);
  if (code == 0) code = trimtab_run(model);
  say("run", code, trimtab_last_error(model));
  free(zeros);
}

int main(int argc, char** argv) {
  trimtab_options options = {0};
  trimtab_model* model = NULL;
  char why[256] = "";
  int32_t dims[8];
  if (argc < 3 || argc > 3 + 8) return 2;
  options.max_memory_bytes = strtoull(argv[2], NULL, 10);
  if (say("open", trimtab_open_file(argv[1], &options, &model, why, sizeof why), why) != 0)
    return 0;
  for (int i = 3; i < argc; ++i) dims[i - 3] = atoi(argv[i]);
  if (argc > 3)
    say("resize", trimtab_resize_input(model, 0, dims, argc - 3), trimtab_last_error(model));
  run(model);
  trimtab_close(model);
  return 0;
}
