// States that a model keeps between runs. The file is compiled for models that have some.
#include "runtime/api/model.h"

int trimtab_reset(trimtab_model* model) {
  return trimtab::Report(model, model->executor.ResetStates());
}
