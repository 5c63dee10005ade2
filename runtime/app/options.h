// The runner's command line.
#ifndef TRIMTAB_APP_OPTIONS_H_
#define TRIMTAB_APP_OPTIONS_H_

#include <stdint.h>

namespace trimtab {

// The files of an option that may be repeated.
struct Files {
  static constexpr int kMax = 16;

  const char* paths[kMax] = {};
  int count = 0;
#if TRIMTAB_FRAMES
  bool is_image[kMax] = {};
#endif
};

struct Options {
  const char* model = nullptr;  // null: the embedded one
  Files inputs;
  const char* output_dir = nullptr;
  const char* counters = nullptr;
  const char* cores = nullptr;  // null: no pinning
#if TRIMTAB_RUN_TIME_OPERATORS
  Files plugins;
#endif
#if TRIMTAB_TRAIN
  const char* train = nullptr;  // the checkpoint; null: inference
  int64_t save_every = 0;       // steps; 0: only at the end
#endif
  int64_t threads = 1;
  int64_t warmup = 0;
  int64_t runs = 1;
  int64_t min_time_ms = 0;
#if TRIMTAB_PACED
  int64_t period_us = 0;  // between frames; 0: no frames, runs follow each other
#endif
#if TRIMTAB_TENSORS
  const char* tensors = nullptr;  // the file of the operators' results; null: none
  int64_t tensors_from = 0;       // the first operator
  int64_t tensors_bytes = INT64_MAX;
#endif
  int64_t max_memory_bytes = 0;  // 0: no limit
  bool per_op = false;
  bool markers = false;
  bool trust = false;  // do not compare the weights with their checksum
  bool help = false;
};

// Returns the error of the command line, valid until the next call, or null.
const char* ParseOptions(int argc, char** argv, Options* options);

// Writes the options that this runner has to standard output.
void WriteHelp();

}  // namespace trimtab

#endif  // TRIMTAB_APP_OPTIONS_H_
