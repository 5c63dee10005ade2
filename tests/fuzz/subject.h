// Common parts of the fuzz targets: a model of hostile bytes, and the mutation of such bytes.
//
// An input is a .ttm file, whose header states its length, followed by bytes from which a target
// takes its decisions. Both checksums are corrected before a file is opened and after a mutation:
// an attacker would do that, and the checks after them are the ones that matter.
#ifndef TRIMTAB_TESTS_FUZZ_SUBJECT_H_
#define TRIMTAB_TESTS_FUZZ_SUBJECT_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/api/trimtab.h"

namespace trimtab {

// A sequence of decisions, one byte each; 0 past the end.
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
  // Copies the file into memory that ends where the file does. `bytes` may be anything.
  Subject(const uint8_t* bytes, size_t size);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  Decisions decisions() const { return decisions_; }
  trimtab_model* model() const { return model_; }  // null: rejected, or closed

  // Opens the model unless it is open, with a limit of memory; it stays null if it is rejected.
  void Open(int threads);
  void Close();

  // Sets every input to memory of exactly its size; false if that exceeds the limit.
  bool SetInputs();
  void SetInput(uint32_t index, size_t bytes);

  // Reads every byte of the outputs; returns their sum.
  uint32_t ReadOutputs() const;
  // Runs with the first outputs in memory of exactly their size; returns whether it succeeded.
  bool RunInto();

 private:
  static constexpr uint32_t kMaxInputs = 64;

  uint8_t* file_ = nullptr;
  size_t file_bytes_ = 0;
  Decisions decisions_;
  trimtab_model* model_ = nullptr;
  void* inputs_[kMaxInputs] = {};
};

}  // namespace trimtab

#endif  // TRIMTAB_TESTS_FUZZ_SUBJECT_H_
