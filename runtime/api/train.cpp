// Training: steps of a model whose last inputs are values that its last outputs replace, most of
// them in place, and their checkpoint. Compiled for profiles with `train` alone.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/api/model.h"
#include "runtime/core/loader.h"
#include "runtime/core/memory.h"
#include "runtime/core/text.h"

namespace {

// The first bytes of a checkpoint (docs/training.md, "Checkpoints").
struct Header {
  char magic[8];
  uint64_t checksum;  // of the whole file, with 0 here
  uint32_t version;
  uint32_t count;
  uint64_t steps;
  uint64_t identity;
  uint64_t reserved[3];
};
static_assert(sizeof(Header) == 64, "a row of the checksum");

constexpr uint32_t kVersion = 1;
constexpr size_t kMaxPath = 4096;

size_t Padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

// Behind the bytes of the checkpoint, in the same memory.
struct trimtab_trainer {
  trimtab_model* model;
  uint8_t* file;  // the checkpoint: the model's inputs point into it
  size_t bytes;

  Header& header() const { return *reinterpret_cast<Header*>(file); }

  uint32_t first_input() const { return trimtab_input_count(model) - header().count; }
  uint32_t first_output() const { return trimtab_output_count(model) - header().count; }

  // True while inputs and outputs have the sizes of the checkpoint, and the inputs its memory: a
  // caller can resize them, or set others.
  bool Fits() const {
    trimtab_tensor loss;
    trimtab_output(model, 0, &loss);
    if (loss.bytes < sizeof(float)) return false;
    const auto* const sizes = reinterpret_cast<const uint64_t*>(file + sizeof(Header));
    size_t at = sizeof(Header) + Padded(header().count * sizeof(uint64_t));
    for (uint32_t i = 0; i < header().count; ++i) {
      trimtab_tensor input, output;
      trimtab_input(model, first_input() + i, &input);
      trimtab_output(model, first_output() + i, &output);
      if (input.data != file + at || input.bytes != sizes[i] || output.bytes != sizes[i])
        return false;
      at += Padded(input.bytes);
    }
    return true;
  }

  // Null, or what is wrong with the file. Only a file without faults changes the model.
  const char* Check() {
    Header& begin = header();
    if (bytes < sizeof(Header) || memcmp(begin.magic, "trimtabw", 8) != 0)
      return TRIMTAB_TEXT("not a checkpoint");
    const uint64_t checksum = begin.checksum;
    begin.checksum = 0;
    if (begin.version != kVersion || bytes % 64 != 0 || trimtab::Checksum(file, bytes) != checksum)
      return TRIMTAB_TEXT("a damaged checkpoint, or one of another version");
    const uint32_t count = begin.count;
    // The first output is the loss.
    if (count > trimtab_input_count(model) || count >= trimtab_output_count(model) ||
        count > bytes / sizeof(uint64_t))
      return TRIMTAB_TEXT("a checkpoint of another model");
    size_t at = sizeof(Header) + Padded(count * sizeof(uint64_t));
    if (at > bytes) return TRIMTAB_TEXT("a checkpoint of another model");
    for (uint32_t i = 0; i < count; ++i) {
      trimtab_tensor input, output;
      trimtab_input(model, first_input() + i, &input);
      trimtab_output(model, first_output() + i, &output);
      const uint64_t size = reinterpret_cast<const uint64_t*>(file + sizeof(Header))[i];
      if (size != input.bytes || size != output.bytes || bytes - at < Padded(size))
        return TRIMTAB_TEXT("a checkpoint of another model");
      at += Padded(input.bytes);
    }
    if (at != bytes) return TRIMTAB_TEXT("a checkpoint of another model");
    if (!model->executor.OverwriteInputs(count).ok())
      return TRIMTAB_TEXT("no memory to train with the checkpoint");
    for (uint32_t i = count; i-- > 0;) {
      trimtab_tensor input;
      trimtab_input(model, first_input() + i, &input);
      at -= Padded(input.bytes);
      trimtab_set_input(model, first_input() + i, file + at, input.bytes);
    }
    return nullptr;
  }
};

namespace {

int Refuse(int code, const char* reason, const char* path, char* why, size_t why_size) {
  if (why != nullptr) trimtab::Text(why, why_size).Add(reason).Add(": ").Add(path);
  return code;
}

bool WriteAll(int file, const uint8_t* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// Closes a file, whose content must be in storage then.
bool Finish(int file, bool ok) {
  ok = ok && fsync(file) == 0;
  const int cause = errno;
  const bool closed = close(file) == 0;
  if (!ok) errno = cause;
  return ok && closed;
}

}  // namespace

int trimtab_train_open(trimtab_model* model, const char* path, trimtab_trainer** trainer, char* why,
                       size_t why_size) {
  const void* data = nullptr;
  size_t size = 0;
  if (!trimtab::MapFile(path, &data, &size).ok())
    return Refuse(TRIMTAB_IO, TRIMTAB_TEXT("cannot open the checkpoint"), path, why, why_size);
  const size_t room = size <= SIZE_MAX / 2 ? Padded(size) : 0;
  void* memory = room > 0 ? trimtab::MapMemory(room + sizeof(trimtab_trainer)) : nullptr;
  if (memory != nullptr) memcpy(memory, data, size);
  trimtab::UnmapFile(data, size);
  if (memory == nullptr)
    return Refuse(TRIMTAB_OUT_OF_MEMORY, TRIMTAB_TEXT("no memory for it"), path, why, why_size);
  uint8_t* const file = static_cast<uint8_t*>(memory);
  trimtab_trainer* const made = reinterpret_cast<trimtab_trainer*>(file + room);
  *made = {model, file, size};
  if (const char* reason = made->Check()) {
    trimtab::UnmapMemory(memory, room + sizeof(trimtab_trainer));
    return Refuse(TRIMTAB_BAD_FILE, reason, path, why, why_size);
  }
  *trainer = made;
  return TRIMTAB_OK;
}

int trimtab_train_step(trimtab_trainer* trainer, float* loss) {
  trimtab_model* const model = trainer->model;
  if (!trainer->Fits()) {
    const char* const why =
        TRIMTAB_TEXT("the values are no longer the checkpoint's: open it again");
    return trimtab::Report(model, trimtab::Status(trimtab::Code::kBadArgument, why));
  }
  if (const int code = trimtab_run(model)) return code;
  trimtab_tensor from, to;
  trimtab_output(model, 0, &from);
  memcpy(loss, from.data, sizeof(*loss));
  const uint32_t count = trainer->header().count;
  for (uint32_t i = 0; i < count; ++i) {
    trimtab_input(model, trainer->first_input() + i, &to);
    trimtab_output(model, trainer->first_output() + i, &from);
    if (to.data != from.data) memcpy(to.data, from.data, to.bytes);
  }
  ++trainer->header().steps;
  return TRIMTAB_OK;
}

uint64_t trimtab_train_steps(const trimtab_trainer* trainer) { return trainer->header().steps; }

int trimtab_train_save(trimtab_trainer* trainer, const char* path) {
  char partial[kMaxPath];
  const size_t length = strlen(path);
  if (length + sizeof(".partial") > sizeof(partial)) {
    errno = ENAMETOOLONG;
    return TRIMTAB_IO;
  }
  trimtab::Text(partial, sizeof(partial)).Add(path).Add(".partial");
  Header& header = trainer->header();
  header.checksum = 0;
  header.checksum = trimtab::Checksum(trainer->file, trainer->bytes);
  int file = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return TRIMTAB_IO;
  if (!Finish(file, WriteAll(file, trainer->file, trainer->bytes)) || rename(partial, path) != 0)
    return TRIMTAB_IO;
  // The new name is in storage when the folder is.
  const char* slash = strrchr(path, '/');
  const size_t folder = slash != nullptr ? static_cast<size_t>(slash - path) + 1 : 0;
  memcpy(partial, folder > 0 ? path : ".", folder > 0 ? folder : 1);
  partial[folder > 0 ? folder : 1] = '\0';
  file = open(partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return file >= 0 && Finish(file, true) ? TRIMTAB_OK : TRIMTAB_IO;
}

void trimtab_train_close(trimtab_trainer* trainer) {
  if (trainer == nullptr) return;
  trainer->model->executor.ForgetInputs(trainer->file, trainer->bytes);
  trimtab::UnmapMemory(trainer->file, Padded(trainer->bytes) + sizeof(trimtab_trainer));
}
