/* Probability of speech in 16 kHz, 16-bit mono PCM: voice MODEL.ttm < SOUND.pcm
 *
 * The model is Silero VAD, whose LSTM's state it keeps between runs: docs/states.md. Each run takes
 * 512 new samples (32 ms) behind the last 64 of the run before. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "trimtab.h"

enum { CONTEXT = 64, NEW = 512 };

static int fail(const char* what, const char* why) {
  fprintf(stderr, "voice: %s: %s\n", what, why);
  return 1;
}

int main(int argc, char** argv) {
  trimtab_model* model;
  trimtab_tensor input, output;
  char why[256];
  if (argc != 2) return fail("usage", "voice MODEL.ttm < SOUND.pcm");
  if (trimtab_open_file(argv[1], NULL, &model, why, sizeof why) != TRIMTAB_OK)
    return fail(argv[1], why);
  static float samples[CONTEXT + NEW];
  static int16_t pcm[NEW];
  if (trimtab_input_count(model) != 1 || trimtab_input(model, 0, &input) != TRIMTAB_OK ||
      input.bytes != sizeof samples)
    return fail(argv[1], "its only input is not float32 [1, 576]");
  trimtab_set_input(model, 0, samples, sizeof samples); /* not copied */
  while (fread(pcm, sizeof pcm[0], NEW, stdin) == NEW) {
    memmove(samples, samples + NEW, CONTEXT * sizeof samples[0]);
    for (int i = 0; i < NEW; ++i) samples[CONTEXT + i] = (float)pcm[i] / 32768.0f;
    if (trimtab_run(model) != TRIMTAB_OK) return fail(argv[1], trimtab_last_error(model));
    trimtab_output(model, 0, &output);
    printf("%.4f\n", (double)((const float*)output.data)[0]);
    fflush(stdout);
  }
  trimtab_close(model); /* trimtab_reset(model) begins another stream */
  return 0;
}
