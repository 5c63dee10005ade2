#include "runtime/core/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "runtime/core/arena.h"
#include "runtime/core/tensor.h"

namespace trimtab {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              ".ttm files are little-endian and used in place");

Status Bad(const char* what, int64_t where = Status::kNoFact) {
  return Status(Code::kBadFile, what, where);
}

// A legal range of offsets: the tables after the header, or the constants after the tables.
struct Region {
  uint64_t begin, end;

  // True if [offset, offset + bytes) lies inside and offset is aligned.
  bool Holds(uint64_t offset, uint64_t bytes, uint64_t alignment) const {
    return offset >= begin && offset <= end && bytes <= end - offset && offset % alignment == 0;
  }
};

bool NameFits(const uint8_t* bytes, const Region& tables, uint32_t offset) {
  if (offset == 0) return true;
  if (!tables.Holds(offset, 3, 1)) return false;
  uint16_t length;
  memcpy(&length, bytes + offset, sizeof(length));
  return tables.Holds(offset, length + 3u, 1) && bytes[offset + 2 + length] == 0;
}

constexpr uint32_t kInfinity = 0x7F800000;  // bits of a float

bool QuantizationFits(const uint8_t* bytes, const Region& tables, const VarRecord& var) {
  const uint32_t offset = var.quantization_offset;
  if (offset == 0) return true;
  if (!tables.Holds(offset, sizeof(Quantization), 4)) return false;
  const Quantization& quantization = *reinterpret_cast<const Quantization*>(bytes + offset);
  int32_t count = 1;
  if (quantization.axis != Quantization::kPerTensor) {
    if (static_cast<uint32_t>(quantization.axis) >= var.rank) return false;
    count = var.dims[quantization.axis];
  }
  const DType stored = static_cast<DType>(var.dtype);
  if (stored != DType::kI8 && stored != DType::kU8 && stored != DType::kI32) return false;
  if (quantization.count != static_cast<uint32_t>(count) ||
      !tables.Holds(offset, sizeof(quantization) + uint64_t{quantization.count} * 8, 4)) {
    return false;
  }
  for (uint32_t i = 0; i < quantization.count; ++i) {
    uint32_t scale;  // whose bits are in order of its value
    memcpy(&scale, &quantization.scales()[i], sizeof(scale));
    if (scale - 1 >= kInfinity - 1) return false;
    const uint32_t above_least =
        static_cast<uint32_t>(quantization.zero_points()[i]) + (stored == DType::kI8 ? 128u : 0u);
    if (stored != DType::kI32 && above_least > 255) return false;
  }
  return true;
}

// Returns the error of a single variable, or null.
const char* Fault(const VarRecord& var, const uint8_t* bytes, const Region& tables,
                  const Region& constants) {
  if (var.rank > Dims::kMaxRank || var.layout > 1)
    return TRIMTAB_TEXT("bad rank or layout of a variable");
  const size_t element_bytes = ElementSize(static_cast<DType>(var.dtype));
  if (element_bytes == 0) return TRIMTAB_TEXT("unknown element type of a variable");
  const int64_t count = Program::dims(var).Count();
  if (count < 0) return TRIMTAB_TEXT("a variable is negative or too large");
  if (!NameFits(bytes, tables, var.name_offset)) return TRIMTAB_TEXT("bad name of a variable");
  if (!QuantizationFits(bytes, tables, var)) return TRIMTAB_TEXT("bad quantization of a variable");
  // Packing only adds padding, so packed data are large enough, too.
  if (var.data_offset != 0 && (!constants.Holds(var.data_offset, var.data_bytes, 64) ||
                               var.data_bytes / element_bytes < static_cast<uint64_t>(count))) {
    return TRIMTAB_TEXT("data of a variable is too short, or outside the constants");
  }
  return nullptr;
}

// True if a sub-tensor is a range of channels of an NHWC image that is no sub-tensor itself.
bool SubTensorFits(const VarRecord* vars, uint32_t var_count, const VarRecord& part) {
  if ((part.flags & kVarSubTensor) == 0) return true;
  if (part.parent >= var_count) return false;
  const VarRecord& parent = vars[part.parent];
  return (parent.flags & kVarSubTensor) == 0 && parent.dtype == part.dtype && parent.rank == 4 &&
         part.rank == 4 && parent.layout == 1 && part.layout == 1 && parent.data_offset == 0 &&
         part.data_offset == 0 && parent.dims[0] == part.dims[0] &&
         parent.dims[2] == part.dims[2] && parent.dims[3] == part.dims[3] && part.dims[1] > 0 &&
         part.dims[1] <= parent.dims[1] &&
         part.channel <= static_cast<uint32_t>(parent.dims[1] - part.dims[1]);
}

// Bytes of a mapped file that are read at once.
constexpr size_t kChunkBytes = size_t{1} << 20;

}  // namespace

void RunningChecksum::Add(const uint8_t* bytes, size_t size) {
  Row sum = sum_, sum_of_sums = sum_of_sums_;
  for (size_t at = 0; at + sizeof(Row) <= size; at += sizeof(Row)) {
    Row row;
    memcpy(&row, bytes + at, sizeof(row));
    sum += row;
    sum_of_sums += sum;
  }
  sum_ = sum;
  sum_of_sums_ = sum_of_sums;
}

uint64_t RunningChecksum::Digest() const {
  uint64_t digest = 0xCBF29CE484222325u;  // FNV-1a, 64 bits, over the sums
  uint32_t sums[32];
  memcpy(sums, &sum_, sizeof(sum_));
  memcpy(sums + 16, &sum_of_sums_, sizeof(sum_of_sums_));
  for (const uint32_t sum : sums) digest = (digest ^ sum) * 0x100000001B3u;
  return digest;
}

uint64_t Checksum(const void* data, size_t size) {
  RunningChecksum sums;
  sums.Add(static_cast<const uint8_t*>(data), size);
  return sums.Digest();
}

bool Unpack(const uint8_t* from, const uint8_t* end, uint8_t* to, uint8_t* to_end) {
  const uint8_t* const begin = to;
  ptrdiff_t distance = 0;
  while (to < to_end) {
    if (end - from < static_cast<ptrdiff_t>(kMaxTokenBytes)) return false;
    const unsigned token = *from++;
    memcpy(to, from, 8);  // at most 7 literals
    to += token >> 5;
    from += token >> 5;
    if ((token & 16) != 0) {
      distance = from[0] | from[1] << 8;
      from += 2;
    }
    if (distance > to - begin) return false;
    unsigned length = token & 15;
    if (length > 7) length = (length - 7) * 8;
    for (; length > 0; --length, ++to) *to = to[-distance];
  }
  return to == to_end;
}

Status Load(const void* data, size_t size, Program* program) {
  const uint8_t* bytes = static_cast<const uint8_t*>(data);
  if (size < sizeof(FileHeader))
    return Bad(TRIMTAB_TEXT("too short to be a .ttm file (bytes)"), static_cast<int64_t>(size));
  if (reinterpret_cast<uintptr_t>(data) % 64 != 0)
    return Status(Code::kBadArgument, TRIMTAB_TEXT("the model must be 64-byte aligned"));
  const FileHeader& header = *reinterpret_cast<const FileHeader*>(bytes);
  if (memcmp(header.magic, "trimtab", 8) != 0) return Bad(TRIMTAB_TEXT("not a .ttm file"));
  if (header.version != kFormatVersion) {
    return Status(
        Code::kBadVersion,
        TRIMTAB_TEXT("make it again by `trimtab convert`: another .ttm version (expected, actual)"),
        kFormatVersion, header.version);
  }
  if (header.file_bytes != size || size % 64 != 0)
    return Bad(TRIMTAB_TEXT("truncated or padded file (bytes)"), static_cast<int64_t>(size));
  const uint32_t stored = header.stored_bytes;
  const Region tables = {sizeof(FileHeader), header.tables_bytes};
  const Region constants = {tables.end, tables.end + size - stored};
  // A byte of packed tables stands for at most 64: a small file takes little memory.
  if (tables.end < tables.begin || stored < tables.begin || stored > size ||
      (tables.end | stored) % 64 != 0 || tables.end / 64 > stored)
    return Bad(TRIMTAB_TEXT("tables lie outside the file"));
  const uint64_t checksum = Checksum(bytes + kSealBytes, stored - kSealBytes);
  const uint64_t* reserved = header.sealed_reserved;
  if (header.tables_checksum != checksum || (reserved[0] | reserved[1] | reserved[2]) != 0)
    return Bad(TRIMTAB_TEXT("damaged file: the tables' checksum does not match"));
  program->constants_ = bytes + stored;
  if (stored != tables.end) {
    uint8_t* unpacked = nullptr;
    TRIMTAB_RETURN_IF_ERROR(
        program->unpacked_.Take(header.tables_bytes + kMaxUnpackedBeyond, &unpacked));
    memcpy(unpacked, bytes, sizeof(header));
    if (!Unpack(bytes + sizeof(header), bytes + stored, unpacked + sizeof(header),
                unpacked + header.tables_bytes))
      return Bad(TRIMTAB_TEXT("damaged file: packed tables"));
    bytes = unpacked;
  }

  const uint64_t vars_at = sizeof(FileHeader);
  const uint64_t ops_at = vars_at + uint64_t{header.var_count} * sizeof(VarRecord);
  const uint64_t boundary_offset = ops_at + uint64_t{header.op_count} * sizeof(OpRecord);
  const uint64_t boundary_count = uint64_t{header.input_count} + header.output_count;
  if (!tables.Holds(boundary_offset, boundary_count * 4, 4))
    return Bad(TRIMTAB_TEXT("tables lie outside the file"));
  program->bytes_ = bytes;
  program->vars_ = reinterpret_cast<const VarRecord*>(bytes + vars_at);
  program->ops_ = reinterpret_cast<const OpRecord*>(bytes + ops_at);
  program->boundary_ = reinterpret_cast<const uint32_t*>(bytes + boundary_offset);
  for (uint32_t i = 0; i < header.var_count; ++i) {
    const VarRecord& var = program->vars_[i];
    const char* fault = Fault(var, bytes, tables, constants);
    if (fault == nullptr && !SubTensorFits(program->vars_, header.var_count, var))
      fault = TRIMTAB_TEXT("a sub-tensor is outside its parent");
    if (fault != nullptr) return Bad(fault, i);
  }
  for (uint32_t i = 0; i < boundary_count; ++i) {
    if (program->boundary_[i] >= header.var_count)
      return Bad(TRIMTAB_TEXT("bad input or output index"), i);
    const VarRecord& var = program->var(program->boundary_[i]);
    if ((var.flags & kVarSubTensor) != 0)
      return Bad(TRIMTAB_TEXT("an input or output is a sub-tensor"), i);
    if (i < header.input_count && var.data_offset != 0)
      return Bad(TRIMTAB_TEXT("an input has constant data"), i);
  }
  for (uint32_t i = 0; i < header.op_count; ++i) {
    const OpRecord& op = program->ops_[i];
    const uint32_t operand_count = uint32_t{op.input_count} + op.output_count;
    if (!tables.Holds(op.operands_offset, operand_count * 4u, 4) ||
        !tables.Holds(op.attributes_offset, op.attributes_bytes, 8) ||
        !NameFits(bytes, tables, op.name_offset)) {
      return Bad(TRIMTAB_TEXT("an operator lies outside the file"), i);
    }
    for (uint32_t j = 0; j < operand_count; ++j) {
      const uint32_t var = program->operands(op)[j];
      const bool absent = var == kAbsent && j < op.input_count;
      if (!absent && var >= header.var_count) return Bad(TRIMTAB_TEXT("bad operand index"), i);
    }
  }
  return Status();
}

Status VerifyConstants(const Program& program, bool mapped) {
  RunningChecksum sums;
  for (size_t at = 0; at < program.constants_bytes();) {
    const uint8_t* const from = program.constants() + at;
    const size_t left = program.constants_bytes() - at;
    // Ends at a page boundary.
    const size_t chunk = kChunkBytes - reinterpret_cast<uintptr_t>(from) % kChunkBytes;
    const size_t size = chunk < left ? chunk : left;
    sums.Add(from, size);
    if (mapped) DropPages(from, size);
    at += size;
  }
  return sums.Digest() == program.header().constants_checksum
             ? Status()
             : Bad(TRIMTAB_TEXT("damaged file: the weights' checksum does not match"));
}

#if defined(_WIN32)

Status MapFile(const char* path, const void** bytes, size_t* size) {
  const HANDLE file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return Status(Code::kIo, TRIMTAB_TEXT("cannot open"));
  LARGE_INTEGER end = {};
  GetFileSizeEx(file, &end);
  const HANDLE mapping =
      end.QuadPart > 0 ? CreateFileMappingA(file, nullptr, PAGE_READONLY, 0, 0, nullptr) : nullptr;
  const void* const map =
      mapping != nullptr ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : nullptr;
  if (mapping != nullptr) CloseHandle(mapping);  // the view keeps both open
  CloseHandle(file);
  if (map == nullptr)
    return Status(Code::kIo,
                  end.QuadPart == 0 ? TRIMTAB_TEXT("empty file:") : TRIMTAB_TEXT("cannot map"));
  *bytes = map;
  *size = static_cast<size_t>(end.QuadPart);
  return Status();
}

void UnmapFile(const void* bytes, size_t) { UnmapViewOfFile(bytes); }

#else

Status MapFile(const char* path, const void** bytes, size_t* size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return Status(Code::kIo, TRIMTAB_TEXT("cannot open"));
  char none;
  Status status;
  if (read(file, &none, 0) != 0) {  // a folder can be opened, but not read
    status = Status(Code::kIo, TRIMTAB_TEXT("cannot read"));
  } else {
    const off_t end = lseek(file, 0, SEEK_END);  // fstat takes more code
    errno = 0;
    void* map = MAP_FAILED;
    if (end > 0 && static_cast<uint64_t>(end) <= SIZE_MAX)
      map = mmap(nullptr, static_cast<size_t>(end), PROT_READ, MAP_PRIVATE, file, 0);
    if (map == MAP_FAILED) {
      status = Status(errno == ENOMEM ? Code::kOutOfMemory : Code::kIo,
                      end == 0 ? TRIMTAB_TEXT("empty file:") : TRIMTAB_TEXT("cannot map"));
    }
    *bytes = map;
    *size = static_cast<size_t>(end);
  }
  const int cause = errno;
  close(file);
  errno = cause;
  return status;
}

void UnmapFile(const void* bytes, size_t size) { munmap(const_cast<void*>(bytes), size); }

#endif

}  // namespace trimtab
