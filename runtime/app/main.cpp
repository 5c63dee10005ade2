// trimtab-run, the program that is pushed to a device. Loads a model, reads its inputs from files,
// runs it, reports JSON lines on stdout and writes outputs as raw files. docs/runner.md describes
// the command line and the output.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#if defined(_WIN32)
#define O_CLOEXEC O_BINARY  // there no child gets a file, and a file may be changed like text
#endif

#include "generated/counts.h"
#include "runtime/api/trimtab.h"
#include "runtime/app/cores.h"
#if TRIMTAB_FRAMES
#include "runtime/app/image.h"
#endif
#include "runtime/app/json_line.h"
#include "runtime/app/meter.h"
#include "runtime/app/options.h"
#include "runtime/app/pacer.h"
#include "runtime/app/tensors.h"
#include "runtime/app/train.h"
#include "runtime/core/loader.h"

#if TRIMTAB_EMBEDDED_MODEL
extern "C" const unsigned char trimtab_embedded_model[];
extern "C" const unsigned char trimtab_embedded_model_end[];
#endif

namespace trimtab {
namespace {

// EX_USAGE of sysexits.h; other failures exit with their TRIMTAB_* code.
constexpr int kUsageError = 64;

int Fail(int code, const char* message) {
  JsonLine("error").Number("code", code).String("message", message).Write();
  return code;
}

// Returns 0, or the errno of the first step that failed.
int WriteFile(const char* path, const void* data, size_t bytes) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  const int error = JsonLine::WriteAll(file, data, bytes) ? 0 : errno;
  const int at_close = close(file) == 0 ? 0 : errno;
  return error != 0 ? error : at_close;
}

#if TRIMTAB_FRAMES
// What --max-memory leaves beside the model.
uint64_t RoomForPictures(const trimtab_model* model, const Options& options) {
  constexpr uint64_t kDefaultBytes = uint64_t{2} << 30;
  if (options.max_memory_bytes == 0) return kDefaultBytes;
  const auto limit = static_cast<uint64_t>(options.max_memory_bytes);
  trimtab_memory memory;
  trimtab_memory_use(model, &memory);
  const uint64_t used = memory.arena_bytes + memory.prepared_bytes;
  return used < limit ? limit - used : 0;
}

// The boxes of the first picture, of a network with a detector's head.
void WriteBoxes(const trimtab_model* model) {
  trimtab_box box;
  for (int32_t i = 0; trimtab_box_at(model, 0, i, &box) == TRIMTAB_OK; ++i) {
    const float corners[] = {box.xmin, box.ymin, box.xmax, box.ymax};
    JsonLine("box")
        .Number("i", i)
        .Number("class", box.class_index)
        .String("label", box.label)
        .Decimal("score", box.score, 10000)
        .Decimals("box", corners, 4, 10)
        .Write();
  }
}
#endif

// The files stay mapped as long as the process lives.
int SetInputs(trimtab_model* model, const Options& options) {
  if (static_cast<uint32_t>(options.inputs.count) != trimtab_input_count(model))
    return Fail(kUsageError, "give one --input for each input of the model");
#if TRIMTAB_FRAMES
  uint64_t room = RoomForPictures(model, options);
#endif
  for (int i = 0; i < options.inputs.count; ++i) {
    trimtab_tensor tensor;
    const uint32_t index = static_cast<uint32_t>(i);
#if TRIMTAB_FRAMES
    if (options.inputs.is_image[i]) {
      const ImageError wrong = SetImageFile(model, index, options.inputs.paths[i], &room);
      if (wrong.message != nullptr) return Fail(wrong.code, wrong.message);
      continue;
    }
#endif
    if (trimtab_input(model, index, &tensor) != 0)
      return Fail(TRIMTAB_BAD_ARGUMENT, "no such input");
    const void* data =
        &tensor;  // an empty tensor is never read, and an empty file cannot be mapped
    size_t bytes = 0;
    if (tensor.bytes > 0 &&
        (!MapFile(options.inputs.paths[i], &data, &bytes).ok() || bytes != tensor.bytes))
      return Fail(TRIMTAB_IO, "an input file is missing or not of the input's size");
    if (const int code = trimtab_set_input(model, index, data, tensor.bytes))
      return Fail(code, trimtab_last_error(model));
  }
  return 0;
}

int WriteOutputs(trimtab_model* model, const char* directory) {
  for (uint32_t i = 0; i < trimtab_output_count(model); ++i) {
    trimtab_tensor tensor;
    trimtab_output(model, i, &tensor);
    char path[512];
    Text(path, sizeof(path)).Add(directory).Add("/out").Add(int64_t{i}).Add(".bin");
    if (const int error = WriteFile(path, tensor.data, tensor.bytes))
      return Fail(TRIMTAB_IO, error == ENOSPC
                                  ? "cannot write an output file: No space left on device"
                                  : "cannot write an output file");
    if constexpr (kHasCounts)
      JsonLine("output").Number("i", i).Numbers("dims", tensor.dims, tensor.rank).Write();
  }
  return 0;
}

// Times every operator of one run; prints a line for each.
struct OpTimer {
  Meter* meter;
  trimtab_model* model;
  int64_t threads;
  int64_t run;
#if TRIMTAB_THREADS
  static inline uint64_t spans[64][2];

  void AddShares(JsonLine* line) {
    const uint64_t start = static_cast<uint64_t>(meter->start_ns()), starts[] = {start, start};
    line->BeginList("shares");
    for (int64_t i = 0; i < threads; ++i) {
      line->Differences(spans[i][1] != 0, spans[i], starts, 2);
      spans[i][1] = 0;
    }
    line->EndList();
  }
#endif

  static void Notify(void* context, uint32_t op, int begin) {
    auto* self = static_cast<OpTimer*>(context);
    if (begin != 0) {
      self->meter->Begin(Phase::kOpBegin, op);
      return;
    }
    self->meter->End(Phase::kOpEnd, op);
    uint16_t type = 0;
    const char* name = trimtab_op_name(self->model, op, &type);
    JsonLine line("op");
    line.Number("run", self->run).Number("index", op).Number("id", type).String("name", name);
    self->meter->AddTo(&line);
#if TRIMTAB_THREADS
    if (self->threads > 1) self->AddShares(&line);
#endif
    line.Write();
  }
};

int RunOnce(trimtab_model* model, Meter* meter, const char* event, int64_t index) {
#if TRIMTAB_STATES
  // All runs compute the same: the first frame of a stream. Other models of the binary may have none.
  static_cast<void>(trimtab_reset(model));
#endif
  meter->Begin(Phase::kRunBegin, index);
  const int code = trimtab_run(model);
  meter->End(Phase::kRunEnd, index);
  if (code != 0) return Fail(code, trimtab_last_error(model));
  JsonLine line(event);
  line.Number("i", index);
  meter->AddTo(&line);
  line.Write();
  return 0;
}

#if TRIMTAB_PACED
// The run of the next frame; its time counts from the arrival of the frame.
int RunFrame(trimtab_model* model, Pacer* pacer, Meter* meter, int64_t index) {
  pacer->Next();
  meter->Begin(Phase::kRunBegin, index);
  const int code = trimtab_run(model);
  meter->End(Phase::kRunEnd, index);
  if (code != 0) return Fail(code, trimtab_last_error(model));
  JsonLine line("run");
  line.Number("i", index);
  meter->AddTo(&line);
  line.Number("frame", pacer->frame());
  line.Number("wait_ns", meter->start_ns() - pacer->arrival_ns());
  line.Write();
  return 0;
}
#endif

// The runs of the steady state, and the CPU time of all threads during and between them: threads
// that spin while they wait for a frame show there.
int RunSteadily(trimtab_model* model, const Options& options, Meter* meter) {
  const int64_t start = NowNs(), cpu_ns = CpuNs();
#if TRIMTAB_PACED
  Pacer pacer(options.period_us * 1000);
#endif
  int64_t i = 0;
  do {
#if TRIMTAB_PACED
    const int code =
        options.period_us > 0 ? RunFrame(model, &pacer, meter, i) : RunOnce(model, meter, "run", i);
#else
    const int code = RunOnce(model, meter, "run", i);
#endif
    if (code != 0) return code;
    ++i;
  } while (i < options.runs || NowNs() - start < options.min_time_ms * 1000000);
  const int64_t each_ns = (CpuNs() - cpu_ns) / i;
  JsonLine("cpu")
      .Number("ns", each_ns)
      .Number("runs", i)
      .Number("wall_ns", NowNs() - start)
      .Write();
  return 0;
}

int Measure(trimtab_model* model, const Options& options, Meter* meter) {
#if TRIMTAB_TENSORS
  TensorWriter tensors(model, options);
#endif
  if (const int code = RunOnce(model, meter, "first", 0)) return code;
#if TRIMTAB_TENSORS
  if (const int error = tensors.End())
    return Fail(TRIMTAB_IO, error == ENOSPC ? "cannot write the tensors: No space left on device"
                                            : "cannot write the tensors");
#endif
  for (int64_t i = 0; i < options.warmup; ++i) {
    if (const int code = RunOnce(model, meter, "warmup", i)) return code;
  }
  if (const int code = RunSteadily(model, options, meter)) return code;
  if (!options.per_op) return 0;
  // Operators are timed in separate runs, because reading the clock around each one would lengthen
  // the runs above.
  OpTimer timer = {meter, model, options.threads, 0};
  trimtab_set_observer(model, OpTimer::Notify, &timer);
#if TRIMTAB_THREADS
  trimtab_time_shares(model, OpTimer::spans);
#endif
  for (; timer.run < options.runs; ++timer.run) {
    if (const int code = trimtab_run(model)) return Fail(code, trimtab_last_error(model));
  }
  trimtab_set_observer(model, nullptr, nullptr);
  return 0;
}

// Trains if that is asked for; otherwise sets the inputs, measures inferences, writes the outputs.
int Work(trimtab_model* model, const Options& options, Meter* meter) {
#if TRIMTAB_TRAIN
  if (options.train != nullptr) {
    const TrainResult result = Train(model, options, meter);
    return result.code == 0 ? 0 : Fail(result.code, result.message);
  }
#endif
  int code = SetInputs(model, options);
  if (code == 0) code = Measure(model, options, meter);
#if TRIMTAB_FRAMES
  if (code == 0) WriteBoxes(model);
#endif
  if (code == 0 && options.output_dir != nullptr) code = WriteOutputs(model, options.output_dir);
  return code;
}

int OpenModel(const Options& options, trimtab_model** model, char* why, size_t why_size) {
  // The weights are verified separately, because that is measured by itself.
  const trimtab_options limits = {static_cast<int32_t>(options.threads),
                                  static_cast<uint64_t>(options.max_memory_bytes), 1};
#if TRIMTAB_EMBEDDED_MODEL
  if (options.model == nullptr) {
    const size_t size = static_cast<size_t>(trimtab_embedded_model_end - trimtab_embedded_model);
    return trimtab_open_mapped(trimtab_embedded_model, size, &limits, model, why, why_size);
  }
#endif
  return trimtab_open_file(options.model, &limits, model, why, why_size);
}

int Verify(trimtab_model* model, Meter* meter) {
  meter->Begin(Phase::kVerifyBegin, 0);
  const int code = trimtab_verify(model);
  meter->End(Phase::kVerifyEnd, 0);
  if (code != 0) return Fail(code, trimtab_last_error(model));
  JsonLine line("verify");
  meter->AddTo(&line);
  line.Write();
  return 0;
}

#if TRIMTAB_RUN_TIME_OPERATORS
// Unloads the plug-ins after the model is closed, by order of destruction.
class Plugins {
 public:
  ~Plugins() {
    for (trimtab_library* library : libraries_) trimtab_unload_plugin(library);
  }

  int Load(const Options& options) {
    char why[1024] = "";
    for (int i = 0; i < options.plugins.count; ++i) {
      const int code =
          trimtab_load_plugin(options.plugins.paths[i], &libraries_[i], why, sizeof(why));
      if (code != 0) return Fail(code, why);
    }
    return 0;
  }

 private:
  trimtab_library* libraries_[Files::kMax] = {};
};
#endif

int RunModel(const Options& options, Meter* meter) {
  trimtab_model* model = nullptr;
  char why[256] = "";
  meter->Begin(Phase::kLoadBegin, 0);
  const int opened = OpenModel(options, &model, why, sizeof(why));
  meter->End(Phase::kLoadEnd, 0);
  if (opened != 0) return Fail(opened, why);
  JsonLine line("load");
  meter->AddTo(&line);
  line.Write();
  trimtab_memory memory;
  trimtab_memory_use(model, &memory);
  JsonLine("memory")
      .Number("arena_bytes", static_cast<int64_t>(memory.arena_bytes))
      .Number("arena_lower_bound_bytes", static_cast<int64_t>(memory.arena_lower_bound_bytes))
      .Number("weights_bytes", static_cast<int64_t>(memory.weights_bytes))
      .Number("prepared_bytes", static_cast<int64_t>(memory.prepared_bytes))
      .Write();
  int code = options.trust ? 0 : Verify(model, meter);
  if (code == 0) code = Work(model, options, meter);
  if (code == 0) {
    const Resident resident = ReadResident();
    JsonLine("peak")
        .NumberOrNull("vm_hwm_bytes", resident.peak_bytes)
        .NumberOrNull("rss_file_bytes", resident.file_bytes)
        .Write();
  }
  trimtab_close(model);
  return code;
}

int Main(int argc, char** argv) {
  Options options;
  if (const char* wrong = ParseOptions(argc, argv, &options)) return Fail(kUsageError, wrong);
  if (options.help) {
    WriteHelp();
    return 0;
  }
#if !TRIMTAB_EMBEDDED_MODEL
  if (options.model == nullptr) return Fail(kUsageError, "name a .ttm model");
#endif
  if (options.cores != nullptr) {
    if (const char* wrong = PinToCores(options.cores)) return Fail(kUsageError, wrong);
  }
  char cores[256];
  AllowedCores(cores, sizeof(cores));
  char features[128];
  trimtab_cpu_features(features, sizeof(features));
  JsonLine("start")
      .String("version", TRIMTAB_VERSION)
      .Hex("schema", trimtab_schema_hash())
      .Number("threads", options.threads)
      .String("affinity", cores)
      .Names("cpu_features", features)
      .Write();
  Counters counters;
  if (options.counters != nullptr && !counters.Open(options.counters))
    return Fail(kUsageError, "the list of counters is malformed or too long");
  Meter meter(options.markers, counters);
#if TRIMTAB_RUN_TIME_OPERATORS
  Plugins plugins;
  if (const int code = plugins.Load(options)) return code;
#endif
  if (const int code = RunModel(options, &meter)) return code;
  JsonLine("end").String("status", "OK").Write();
  return 0;
}

}  // namespace
}  // namespace trimtab

int main(int argc, char** argv) { return trimtab::Main(argc, argv); }
