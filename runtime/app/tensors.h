// The results of operators as files, for `debug` (docs/debugging.md); compiled in with
// TRIMTAB_TENSORS.
#ifndef TRIMTAB_APP_TENSORS_H_
#define TRIMTAB_APP_TENSORS_H_

#include <stdint.h>

#include "runtime/api/trimtab.h"
#include "runtime/app/options.h"

namespace trimtab {

// Begins each result in the file; its elements follow, in the order of memory without gaps between
// pixels. All numbers are little-endian.
struct TensorRecord {
  uint32_t op;            // the operator's index in the model
  uint16_t type;          // the id of its type
  uint8_t output, dtype;  // which of its results, and its element type as in .ttm files
  uint8_t layout, rank;
  uint16_t reserved;
  int32_t dims[8];  // logical
  uint32_t bytes;   // of the elements
};
static_assert(sizeof(TensorRecord) == 48, "the record has no gaps");

// Writes the results of operators into `options.tensors` while the model runs, each right after
// its operator, because later ones overwrite its memory: those from `options.tensors_from` on that
// take up to `options.tensors_bytes` together.
class TensorWriter {
 public:
  TensorWriter(trimtab_model* model, const Options& options);
  TensorWriter(const TensorWriter&) = delete;
  TensorWriter& operator=(const TensorWriter&) = delete;
  ~TensorWriter() { End(); }

  // Ends the writing. Returns 0, or the errno of the first step that failed.
  int End();

 private:
  void WriteResults(uint32_t op);
  void Append(const void* data, size_t bytes);
  void Flush();

  trimtab_model* model_;
  int64_t from_, room_;
  int file_ = -1;
  int error_ = 0;
  size_t filled_ = 0;
  uint8_t buffer_[16384];  // pixels of a sub-tensor are short
};

}  // namespace trimtab

#endif  // TRIMTAB_APP_TENSORS_H_
