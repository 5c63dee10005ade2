// Training with the runner: steps with batches from files.
#ifndef TRIMTAB_APP_TRAIN_H_
#define TRIMTAB_APP_TRAIN_H_

#include "runtime/api/trimtab.h"
#include "runtime/app/meter.h"
#include "runtime/app/options.h"

namespace trimtab {

struct TrainResult {
  int code;
  const char* message;
};

// Makes `options.runs` steps from the checkpoint `options.train` on, which is replaced each
// `options.save_every` steps and at the end. Each input has a file of batches, which repeat.
TrainResult Train(trimtab_model* model, const Options& options, Meter* meter);

}  // namespace trimtab

#endif  // TRIMTAB_APP_TRAIN_H_
