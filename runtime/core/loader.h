// Turns the bytes of a .ttm file into a Program, believing nothing they say.
#ifndef TRIMTAB_CORE_LOADER_H_
#define TRIMTAB_CORE_LOADER_H_

#include "runtime/core/program.h"

namespace trimtab {

// Checks magic, version, size, the tables' checksum, and every offset, count and index, so that all
// accessors of `program` are safe. Reads no constant: loading costs the same however many weights
// there are. `bytes` must be 64-byte aligned and outlive the program.
Status Load(const void* bytes, size_t size, Program* program);

// Compares the constants with their checksum. Whatever they hold, running is safe; this tells
// whether they are what was written. `mapped`: they are pages of a file, which are given back to the
// system as they are read: comparing takes no memory.
Status VerifyConstants(const Program& program, bool mapped);

// The checksum of a part of a file (docs/model-format.md, "Checksums"). `size` is a multiple of 64.
uint64_t Checksum(const void* bytes, size_t size);

// Maps a file into memory. Unmap with UnmapFile.
Status MapFile(const char* path, const void** bytes, size_t* size);
void UnmapFile(const void* bytes, size_t size);

}  // namespace trimtab

#endif  // TRIMTAB_CORE_LOADER_H_
