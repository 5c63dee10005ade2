// Parses the bytes of a .ttm file into a Program. All bytes are untrusted.
#ifndef TRIMTAB_CORE_LOADER_H_
#define TRIMTAB_CORE_LOADER_H_

#include "runtime/core/program.h"

namespace trimtab {

// Checks magic, version, size, the checksum of the tables, and every offset, count and index, so
// that all accessors of `program` are safe. Reads no constant, so loading time does not depend on
// the size of the weights. `bytes` must be 64-byte aligned and outlive the program.
Status Load(const void* bytes, size_t size, Program* program);

// Compares the constants with their checksum. Running is safe whatever the constants hold; this
// detects damage. `mapped`: the bytes are pages of a file, which are returned to the system after
// they are read, so that the check uses no memory.
Status VerifyConstants(const Program& program, bool mapped);

// The checksum of bytes that are added piece by piece. Two sums over columns of 16 words (Fletcher
// 1982): the first detects any changed byte, the second any change of order. Both are vector
// additions, so checking is faster than reading the weights from storage.
class RunningChecksum {
 public:
  // `size` is a multiple of 64.
  void Add(const uint8_t* bytes, size_t size);
  uint64_t Digest() const;

 private:
  typedef uint32_t Row __attribute__((vector_size(64)));
  Row sum_ = {}, sum_of_sums_ = {};
};

// Checksum of a section of a file (docs/model-format.md, "Checksums"). `size` is a multiple of 64.
uint64_t Checksum(const void* bytes, size_t size);

// Unpacks tables (docs/model-format.md, "Packed tables") to `to`, which holds zeros, and may write
// kMaxUnpackedBeyond bytes behind `to_end`; false if they are damaged or have another size.
constexpr size_t kMaxTokenBytes = 11, kMaxUnpackedBeyond = 128;
bool Unpack(const uint8_t* from, const uint8_t* end, uint8_t* to, uint8_t* to_end);

// Maps a file into memory. Unmap with UnmapFile. After an error, errno is its cause, or 0.
Status MapFile(const char* path, const void** bytes, size_t* size);
void UnmapFile(const void* bytes, size_t size);

}  // namespace trimtab

#endif  // TRIMTAB_CORE_LOADER_H_
