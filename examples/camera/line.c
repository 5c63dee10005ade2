/* Reads a line of text in pictures or frames: line MODEL.ttm FILE...
 *
 * The model is a recognizer with the head ctc, whose labels are characters, behind a camera whose
 * frames may differ in size (README.md). FILE: see boxes.c. Prints a line for each file. */
#include "image_file.h"

static void print_text(const trimtab_model* model) {
  trimtab_tensor labels; /* int64 [1, steps]: -1 where no character begins */
  if (trimtab_output(model, 0, &labels) != TRIMTAB_OK || labels.dtype != 6) return;
  const int64_t* at = labels.data;
  for (size_t i = 0; i < labels.bytes / sizeof *at; ++i)
    printf("%s", trimtab_label(model, (int32_t)at[i]));
  printf("\n");
}

int main(int argc, char** argv) { return run_files(argc, argv, print_text); }
