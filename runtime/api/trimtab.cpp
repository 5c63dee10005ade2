#include "runtime/api/trimtab.h"

#include <errno.h>
#include <string.h>

#include <new>

#include "runtime/api/model.h"
#include "runtime/core/cpu.h"
#include "runtime/core/loader.h"
#include "runtime/core/memory.h"
#include "runtime/core/registry.h"
#include "runtime/core/text.h"

// A static program contains the table of the system's texts only if it uses strerror itself.
#pragma weak strerror

namespace trimtab {

int Report(trimtab_model* model, const Status& status) {
  if (status.ok()) return TRIMTAB_OK;
  status.Format(model->error, sizeof(model->error));
  return static_cast<int>(status.code());
}

}  // namespace trimtab

namespace {

using trimtab::Code;
using trimtab::Report;
using trimtab::Status;

int Fail(const Status& status, char* why, size_t why_size) {
  if (why != nullptr) status.Format(why, why_size);
  return static_cast<int>(status.code());
}

void Describe(const trimtab::Tensor& from, const char* name, trimtab_tensor* to) {
  to->name = name;
  to->data = from.raw;
  to->bytes = from.CountBytes();
  to->rank = from.dims.rank;
  for (int i = 0; i < from.dims.rank; ++i) to->dims[i] = from.dims[i];
  to->dtype = static_cast<int32_t>(from.dtype);
}

// Reports that the file `path` could not be mapped, with the reason in `cause` (an errno, or 0).
int FailToOpen(const Status& status, const char* path, int cause, char* why, size_t why_size) {
  const int code = Fail(status, why, why_size);
  if (why == nullptr) return code;
  size_t length = strlen(why);
  trimtab::Text text(why + length, why_size - length);
  text.Add(" ").Add(path);
  if (cause == 0) return code;
  if (strerror != nullptr) {
    text.Add(": ").Add(strerror(cause));
  } else {
    text.Add(" (errno ").Add(static_cast<int64_t>(cause)).Add(")");
  }
  return code;
}

// Kind and owner of a model's bytes.
enum class Bytes { kMemory, kFile, kMappedFile };

Status SetUp(trimtab_model* model, const void* data, size_t size, const trimtab_options* options) {
  TRIMTAB_RETURN_IF_ERROR(trimtab::CheckIsa());
  TRIMTAB_RETURN_IF_ERROR(trimtab::Load(data, size, &model->program));
  const trimtab_options settings = options != nullptr ? *options : trimtab_options();
  if (settings.trust_weights == 0)
    TRIMTAB_RETURN_IF_ERROR(trimtab::VerifyConstants(model->program, model->mapped));
  return model->executor.SetUp(model->program, settings.threads != 0 ? settings.threads : 1,
                               model->mapped, settings.max_memory_bytes);
}

int Open(const void* data, size_t size, Bytes kind, const trimtab_options* options,
         trimtab_model** result, char* why, size_t why_size) {
  void* memory = trimtab::MapMemory(sizeof(trimtab_model));
  if (memory == nullptr) {
    if (kind == Bytes::kMappedFile) trimtab::UnmapFile(data, size);
    return Fail(Status(Code::kOutOfMemory, TRIMTAB_TEXT("no memory for the model")), why, why_size);
  }
  trimtab_model* model = ::new (memory) trimtab_model;
  model->mapped = kind != Bytes::kMemory;
  if (kind == Bytes::kMappedFile) {
    model->map = data;
    model->map_bytes = size;
  }
  const Status status = SetUp(model, data, size, options);
  if (!status.ok()) {
    trimtab_close(model);
    return Fail(status, why, why_size);
  }
  *result = model;
  return TRIMTAB_OK;
}

}  // namespace

int trimtab_open_file(const char* path, const trimtab_options* options, trimtab_model** model,
                      char* why, size_t why_size) {
  const void* bytes = nullptr;
  size_t size = 0;
  const Status status = trimtab::MapFile(path, &bytes, &size);
  if (!status.ok()) return FailToOpen(status, path, errno, why, why_size);
  return Open(bytes, size, Bytes::kMappedFile, options, model, why, why_size);
}

int trimtab_open_memory(const void* data, size_t size, const trimtab_options* options,
                        trimtab_model** model, char* why, size_t why_size) {
  return Open(data, size, Bytes::kMemory, options, model, why, why_size);
}

int trimtab_open_mapped(const void* data, size_t size, const trimtab_options* options,
                        trimtab_model** model, char* why, size_t why_size) {
  return Open(data, size, Bytes::kFile, options, model, why, why_size);
}

int trimtab_verify(trimtab_model* model) {
  return Report(model, trimtab::VerifyConstants(model->program, model->mapped));
}

void trimtab_close(trimtab_model* model) {
  if (model == nullptr) return;
  const void* map = model->map;
  const size_t map_bytes = model->map_bytes;
  model->~trimtab_model();
  trimtab::UnmapMemory(model, sizeof(trimtab_model));
  if (map != nullptr) trimtab::UnmapFile(map, map_bytes);
}

uint32_t trimtab_input_count(const trimtab_model* model) { return model->program.input_count(); }
uint32_t trimtab_output_count(const trimtab_model* model) { return model->program.output_count(); }

int trimtab_input(const trimtab_model* model, uint32_t index, trimtab_tensor* tensor) {
  if (index >= model->program.input_count()) return TRIMTAB_BAD_ARGUMENT;
  Describe(model->executor.input(index),
           model->executor.scope().variable(model->program.input(index)).name, tensor);
  return TRIMTAB_OK;
}

int trimtab_output(const trimtab_model* model, uint32_t index, trimtab_tensor* tensor) {
  if (index >= model->program.output_count()) return TRIMTAB_BAD_ARGUMENT;
  Describe(model->executor.output(index),
           model->executor.scope().variable(model->program.output(index)).name, tensor);
  return TRIMTAB_OK;
}

int trimtab_set_input(trimtab_model* model, uint32_t index, const void* data, size_t bytes) {
  return Report(model, model->executor.SetInput(index, data, bytes));
}

int trimtab_resize_input(trimtab_model* model, uint32_t index, const int32_t* dims, int32_t rank) {
  trimtab::Dims new_dims;
  if (rank < 0 || rank > trimtab::Dims::kMaxRank)
    return Report(model, Status(Code::kBadArgument, TRIMTAB_TEXT("rank must be 0 to 8"), rank));
  new_dims.rank = rank;
  for (int i = 0; i < rank; ++i) new_dims[i] = dims[i];
  return Report(model, model->executor.Resize(index, new_dims));
}

int trimtab_resize_inputs(trimtab_model* model, const trimtab_tensor* inputs) {
  trimtab::Memory memory;
  trimtab::Dims* dims = nullptr;
  Status status = memory.Take(model->program.input_count(), &dims);
  for (uint32_t i = 0; status.ok() && i < model->program.input_count(); ++i) {
    if (inputs[i].rank < 0 || inputs[i].rank > trimtab::Dims::kMaxRank) {
      status = Status(Code::kBadArgument, TRIMTAB_TEXT("rank must be 0 to 8"), inputs[i].rank);
      break;
    }
    dims[i].rank = inputs[i].rank;
    for (int j = 0; j < dims[i].rank; ++j) dims[i][j] = inputs[i].dims[j];
  }
  if (status.ok()) status = model->executor.Resize(dims);
  return Report(model, status);
}

int trimtab_run(trimtab_model* model) { return Report(model, model->executor.Run()); }

int trimtab_run_into(trimtab_model* model, void** outputs) {
  return Report(model, model->executor.RunInto(outputs));
}

void trimtab_memory_use(const trimtab_model* model, trimtab_memory* memory) {
  memory->arena_bytes = model->executor.arena_bytes();
  memory->arena_lower_bound_bytes = model->executor.arena_lower_bound_bytes();
  memory->weights_bytes = model->program.constants_bytes();
  memory->prepared_bytes = model->executor.prepared_bytes();
}

const char* trimtab_last_error(const trimtab_model* model) { return model->error; }

void trimtab_set_observer(trimtab_model* model, trimtab_observer observer, void* context) {
  model->observer = observer;
  model->observer_context = context;
  trimtab::OperatorObserver forward;
  forward.context = model;
  if (observer != nullptr) {
    forward.notify = [](void* self, uint32_t op, bool begin) {
      const auto* m = static_cast<const trimtab_model*>(self);
      m->observer(m->observer_context, op, begin ? 1 : 0);
    };
  }
  model->executor.set_observer(forward);
}

void trimtab_time_shares(trimtab_model* model, uint64_t (*spans)[2]) {
  model->executor.TimeShares(spans);
}

uint32_t trimtab_op_count(const trimtab_model* model) { return model->program.op_count(); }

const char* trimtab_op_name(const trimtab_model* model, uint32_t op_index, uint16_t* type_id) {
  if (op_index >= model->program.op_count()) return "";
  const trimtab::OpRecord& op = model->program.op(op_index);
  if (type_id != nullptr) *type_id = op.op_id;
  return model->program.name(op.name_offset);
}

uint64_t trimtab_schema_hash(void) { return trimtab::kSchemaHash; }

void trimtab_cpu_features(char* names, size_t size) {
  trimtab::Text text(names, size);
  const uint32_t features = trimtab::CpuFeatures();
  bool first = true;
  for (int bit = 0; trimtab::CpuFeatureName(bit) != nullptr; ++bit) {
    if (((features >> bit) & 1) == 0) continue;
    if (!first) text.Add(",");
    text.Add(trimtab::CpuFeatureName(bit));
    first = false;
  }
}
