// Turns the bytes of a .ttm file into a Program, believing nothing they say.
#ifndef TRIMTAB_CORE_LOADER_H_
#define TRIMTAB_CORE_LOADER_H_

#include "runtime/core/program.h"

namespace trimtab {

// Checks magic, version, schema, size, checksum, and every offset, count and index, so that all
// accessors of `program` are safe and every operand is computed before it is used. `bytes` must be
// 64-byte aligned and outlive the program.
Status Load(const void* bytes, size_t size, Program* program);

// The checksum of a file (docs/model-format.md, "Checksum"), its own field counted as zero. `size`
// is a multiple of 64.
uint64_t Checksum(const void* bytes, size_t size);

// Maps a file into memory. Unmap with UnmapFile.
Status MapFile(const char* path, const void** bytes, size_t* size);
void UnmapFile(const void* bytes, size_t size);

}  // namespace trimtab

#endif  // TRIMTAB_CORE_LOADER_H_
