// Attributes that are lists of records. A file of its own, so that binaries without such attributes
// do not link it.
#include <string.h>

#include "runtime/core/attributes.h"

namespace trimtab {

bool DecodeRecords(const uint8_t* block, size_t bytes, const uint8_t* slot,
                   const AttributeField& field, uint8_t* out) {
  uint32_t place[2];
  memcpy(place, slot, sizeof(place));
  const size_t stride = size_t{8} * field.limit;
  if (place[0] % 8 != 0 || place[0] > bytes) return false;
  if (place[1] > (bytes - place[0]) / stride) return false;
  const AttributeField* fields = &field + 1;
  for (size_t i = 0; i < place[1]; ++i) {
    for (size_t j = 0; j < field.limit; ++j) {
      alignas(8) uint8_t value[sizeof(IntList)];  // the largest type
      const uint8_t* from = block + place[0] + i * stride + j * 8;
      if (!DecodeSlot(block, bytes, from, fields[j], value)) return false;
    }
  }
  RecordRange records;
  records.block = block;
  records.bytes = static_cast<uint32_t>(bytes);
  records.first = place[0];
  records.size = place[1];
  memcpy(out, &records, sizeof(records));
  return true;
}

void DecodeRecord(const RecordRange& place, size_t i, const AttributeField* fields, size_t count,
                  void* out) {
  const uint8_t* slots = place.block + place.first + i * count * 8;
  for (size_t j = 0; j < count; ++j) {
    uint8_t* to = static_cast<uint8_t*>(out) + fields[j].offset;
    // Cannot fail: the list was checked when it was decoded.
    static_cast<void>(DecodeSlot(place.block, place.bytes, slots + j * 8, fields[j], to));
  }
}

}  // namespace trimtab
