#include "runtime/app/train.h"

#if TRIMTAB_TRAIN

#include <string.h>

#include "runtime/api/trimtab.h"
#include "runtime/app/json_line.h"
#include "runtime/core/loader.h"

namespace trimtab {
namespace {

// The batches of an input, one after the other in a file.
struct Batches {
  const uint8_t* data = nullptr;
  size_t bytes = 0;  // of a batch
  size_t count = 0;
};

// Maps the files of inputs that the checkpoint does not hold: the first ones. Null, or what is wrong.
const char* MapInputs(trimtab_model* model, const Options& options, Batches* batches) {
  for (uint32_t i = 0; i < trimtab_input_count(model); ++i) {
    trimtab_tensor tensor;
    trimtab_input(model, i, &tensor);
    if (tensor.data != nullptr)
      return static_cast<int>(i) == options.inputs.count ? nullptr : "too many inputs";
    if (static_cast<int>(i) == options.inputs.count) return "give one --input for each input";
    const void* data = nullptr;
    size_t size = 0;
    if (!MapFile(options.inputs.paths[i], &data, &size).ok()) return "an input file is missing";
    if (tensor.bytes == 0 || size % tensor.bytes != 0)
      return "an input file does not hold whole batches";
    batches[i] = {static_cast<const uint8_t*>(data), tensor.bytes, size / tensor.bytes};
  }
  return nullptr;
}

}  // namespace

TrainResult Train(trimtab_model* model, const Options& options, Meter* meter) {
  static char why[512];
  trimtab_trainer* trainer = nullptr;
  if (const int code = trimtab_train_open(model, options.train, &trainer, why, sizeof(why)))
    return {code, why};
  static Batches batches[Files::kMax];
  if (const char* wrong = MapInputs(model, options, batches)) return {TRIMTAB_IO, wrong};
  for (int64_t i = 0; i < options.runs; ++i) {
    for (int j = 0; j < options.inputs.count; ++j) {
      const Batches& input = batches[j];
      const uint8_t* data = input.data + static_cast<size_t>(i) % input.count * input.bytes;
      trimtab_set_input(model, static_cast<uint32_t>(j), data, input.bytes);
    }
    float loss = 0;
    meter->Begin(Phase::kRunBegin, i);
    const int code = trimtab_train_step(trainer, &loss);
    meter->End(Phase::kRunEnd, i);
    if (code != 0) return {code, trimtab_last_error(model)};
    const int64_t done = i + 1;
    const bool saves =
        done == options.runs || (options.save_every > 0 && done % options.save_every == 0);
    if (saves && trimtab_train_save(trainer, options.train) != 0)
      return {TRIMTAB_IO, "cannot write the checkpoint"};
    uint32_t bits;
    memcpy(&bits, &loss, sizeof(bits));
    JsonLine line("step");
    line.Number("i", i).Number("steps", static_cast<int64_t>(trimtab_train_steps(trainer)));
    line.Number("loss_bits", bits).Number("saved", saves ? 1 : 0);
    meter->AddTo(&line);
    line.Write();
  }
  trimtab_train_close(trainer);
  return {0, ""};
}

}  // namespace trimtab

#endif
