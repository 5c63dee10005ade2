// Fuzzes training: checkpoints that are whole, flipped or cut, and the calls of a trainer in any
// order. A checkpoint that was saved must be one that opens.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/core/loader.h"
#include "tests/fuzz/subject.h"

namespace {

constexpr size_t kHeader = 64, kChecksum = 8, kMaxCheckpointBytes = 1 << 20;

size_t Padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

template <typename T>
void Put(uint8_t* at, T value) {
  memcpy(at, &value, sizeof(value));
}

// The path of this process's checkpoint.
const char* Path() {
  static char path[64];
  if (path[0] == '\0') {
    snprintf(path, sizeof(path), "/tmp/trimtab-fuzz-%d.checkpoint", static_cast<int>(getpid()));
    atexit([] { unlink(path); });
  }
  return path;
}

// A checkpoint of the last `count` inputs, with bytes of the decisions as values.
class Checkpoint {
 public:
  Checkpoint(trimtab_model* model, uint32_t count, trimtab::Decisions& decisions) {
    const uint32_t inputs = trimtab_input_count(model);
    count = count < inputs ? count : inputs;
    size_ = kHeader + Padded(count * sizeof(uint64_t));
    for (uint32_t i = inputs - count; i < inputs; ++i) {
      trimtab_tensor input;
      trimtab_input(model, i, &input);
      size_ += Padded(input.bytes);
      if (size_ > kMaxCheckpointBytes) size_ = 0;
      if (size_ == 0) return;
    }
    bytes_ = static_cast<uint8_t*>(calloc(size_, 1));
    if (bytes_ == nullptr) abort();
    memcpy(bytes_, "trimtabw", 8);
    Put(bytes_ + 16, uint32_t{1});
    Put(bytes_ + 20, count);
    for (uint32_t i = 0; i < count; ++i) {
      trimtab_tensor input;
      trimtab_input(model, inputs - count + i, &input);
      Put(bytes_ + kHeader + i * sizeof(uint64_t), uint64_t{input.bytes});
    }
    for (size_t at = kHeader + Padded(count * sizeof(uint64_t)); at < size_; at += 64)
      Put(bytes_ + at, static_cast<float>(decisions.Take()) / 64);
  }
  ~Checkpoint() { free(bytes_); }
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  // Flips bits, of the header and the sizes more often, cuts the end, and corrects the checksum,
  // each or not.
  void Damage(trimtab::Decisions& decisions) {
    if (size_ == 0) return;
    const uint8_t kind = decisions.Take();
    for (int flips = kind % 4; flips > 0; --flips) {
      const size_t place = decisions.Take() * 256u + decisions.Take();
      bytes_[place % (flips == 1            ? size_
                      : 2 * kHeader < size_ ? 2 * kHeader
                                            : size_)] ^=
          static_cast<uint8_t>(1u << decisions.Take() % 8);
    }
    if (kind & 4) size_ = size_ * decisions.Take() / 256;
    if (kind & 8) size_ = size_ / 64 * 64;
    if ((kind & 16) == 0 && size_ >= kHeader) {
      Put(bytes_ + kChecksum, uint64_t{0});
      Put(bytes_ + kChecksum, trimtab::Checksum(bytes_, size_));
    }
  }

  bool Write() const {
    FILE* const file = size_ > 0 ? fopen(Path(), "wb") : nullptr;
    if (file == nullptr) return false;
    const bool whole = fwrite(bytes_, 1, size_, file) == size_;
    return fclose(file) == 0 && whole;
  }

 private:
  uint8_t* bytes_ = nullptr;
  size_t size_ = 0;
};

class Trainer {
 public:
  explicit Trainer(trimtab_model* model) : model_(model) {}
  ~Trainer() { Close(); }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  bool Open() {
    Close();
    char why[128];
    if (trimtab_train_open(model_, Path(), &trainer_, why, sizeof(why)) == TRIMTAB_OK) return true;
    trainer_ = nullptr;
    return false;
  }
  void Close() {
    trimtab_train_close(trainer_);
    trainer_ = nullptr;
  }
  trimtab_trainer* get() const { return trainer_; }

 private:
  trimtab_model* model_;
  trimtab_trainer* trainer_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  trimtab::Subject subject(data, size);
  trimtab::Decisions decisions = subject.decisions();
  subject.Open(1 + decisions.Take() % 2);
  trimtab_model* const model = subject.model();
  if (model == nullptr || !subject.SetInputs()) return 0;
  const uint32_t values = 1 + decisions.Take() % 8;
  Trainer trainer(model);
  for (int turn = 0; turn < 24 && decisions.more(); ++turn) {
    const uint8_t call = decisions.Take() % 8;
    float loss = 0;
    if (trainer.get() == nullptr || call == 0) {
      Checkpoint checkpoint(model, decisions.Take() % 4 != 0 ? values : decisions.Take(),
                            decisions);
      checkpoint.Damage(decisions);
      trainer.Close();
      if (checkpoint.Write()) trainer.Open();
    } else if (call == 1) {
      // A batch; the values stay those of the trainer if there are more inputs.
      trimtab_tensor input = {};
      const uint32_t index = decisions.Take() % 4;
      if (trimtab_input(model, index, &input) == TRIMTAB_OK) subject.SetInput(index, input.bytes);
    } else if (call == 2) {
      trimtab_tensor input = {};
      const uint32_t index = decisions.Take() % 4;
      if (trimtab_input(model, index, &input) != TRIMTAB_OK || input.rank == 0) continue;
      input.dims[decisions.Take() % input.rank] = decisions.Take() % 8;
      trimtab_resize_input(model, index, input.dims, input.rank);
      if (trimtab_input(model, index, &input) == TRIMTAB_OK) subject.SetInput(index, input.bytes);
    } else if (call == 3) {
      const uint64_t steps = trimtab_train_steps(trainer.get());
      if (trimtab_train_save(trainer.get(), Path()) != TRIMTAB_OK) continue;
      if (trainer.Open() && trimtab_train_steps(trainer.get()) != steps) abort();
    } else if (call == 4) {
      trainer.Close();
      if (subject.SetInputs() && trimtab_run(model) == TRIMTAB_OK) subject.ReadOutputs();
    } else if (trimtab_train_step(trainer.get(), &loss) == TRIMTAB_OK) {
      subject.ReadOutputs();
    }
  }
  return 0;
}
