// What the fuzz targets share: a model of hostile bytes, and how such bytes are made.
//
// An input is a .ttm file, whose header says how long it is, and bytes behind it, which a target
// takes its own decisions from. Both checksums are put right before a file is opened and after a
// mutation: an attacker would, and behind them are the checks that matter.
#ifndef TRIMTAB_TESTS_FUZZ_SUBJECT_H_
#define TRIMTAB_TESTS_FUZZ_SUBJECT_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/api/trimtab.h"

namespace trimtab {

// Bytes that decide something, taken one after another; 0 when there are no more.
class Decisions {
 public:
  Decisions(const uint8_t* bytes, size_t size) : next_(bytes), left_(size) {}
  bool more() const { return left_ > 0; }
  uint8_t Take() {
    if (left_ == 0) return 0;
    --left_;
    return *next_++;
  }

 private:
  const uint8_t* next_;
  size_t left_;
};

class Subject {
 public:
  // Copies the file into memory that ends where it does. `bytes` may be anything.
  Subject(const uint8_t* bytes, size_t size);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  Decisions decisions() const { return decisions_; }
  trimtab_model* model() const { return model_; }  // null: refused, or closed

  // Opens the model unless it is open, with a limit of memory; it stays null when it is refused.
  void Open(int threads);
  void Close();

  // Points every input at memory of exactly its size; false when that is too much for a fuzzer.
  bool SetInputs();
  void SetInput(uint32_t index, size_t bytes);

  // Reads every byte of the outputs; their sum.
  uint32_t ReadOutputs() const;

 private:
  static constexpr uint32_t kMostInputs = 64;

  uint8_t* file_ = nullptr;
  size_t file_bytes_ = 0;
  Decisions decisions_;
  trimtab_model* model_ = nullptr;
  void* inputs_[kMostInputs] = {};
};

}  // namespace trimtab

#endif  // TRIMTAB_TESTS_FUZZ_SUBJECT_H_
