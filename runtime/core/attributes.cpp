#include "runtime/core/attributes.h"

#include <string.h>

namespace trimtab {
namespace {

template <typename List, typename Element>
bool DecodeList(const uint8_t* block, size_t bytes, const uint8_t* slot, uint16_t length,
                uint8_t* out) {
  uint32_t place[2];
  memcpy(place, slot, sizeof(place));
  if (length != 0 && place[1] != length) return false;
  if (place[0] % alignof(Element) != 0 || place[0] > bytes) return false;
  if (place[1] > (bytes - place[0]) / sizeof(Element)) return false;
  List list;
  list.data = reinterpret_cast<const Element*>(block + place[0]);
  list.size = place[1];
  memcpy(out, &list, sizeof(list));
  return true;
}

}  // namespace

bool DecodeSlot(const uint8_t* block, size_t bytes, const uint8_t* slot,
                const AttributeField& field, uint8_t* out) {
  uint32_t word;
  memcpy(&word, slot, sizeof(word));
  switch (field.type) {
    case AttributeType::kInt: {
      int64_t value;
      memcpy(&value, slot, sizeof(value));
      memcpy(out, &value, sizeof(value));
      return field.limit == 0 || (value >= field.min && value <= field.limit);
    }
    case AttributeType::kFloat:
    case AttributeType::kOp:
      memcpy(out, slot, sizeof(uint32_t));
      return true;
    case AttributeType::kBool:
      *out = static_cast<uint8_t>(word & 1);
      return word <= 1;
    case AttributeType::kEnum:
      memcpy(out, &word, sizeof(word));
      return word < field.limit;
    case AttributeType::kKernel:
      memcpy(out, slot, sizeof(KernelRef));
      return true;
    case AttributeType::kInts:
      return DecodeList<IntList, int64_t>(block, bytes, slot, field.limit, out);
    case AttributeType::kFloats:
      return DecodeList<FloatList, float>(block, bytes, slot, field.limit, out);
    case AttributeType::kRecords:
      return kDecodeRecords != nullptr && kDecodeRecords(block, bytes, slot, field, out);
  }
  return false;
}

Status DecodeAttributes(const uint8_t* block, size_t bytes, const AttributeField* fields,
                        size_t count, void* out) {
  TRIMTAB_CHECK(bytes >= count * 8, "attribute block is too short", static_cast<int64_t>(count * 8),
                static_cast<int64_t>(bytes));
  for (size_t i = 0; i < count; ++i) {
    uint8_t* field = static_cast<uint8_t*>(out) + fields->offset;
    const bool legal = DecodeSlot(block, bytes, block + i * 8, *fields, field);
    TRIMTAB_CHECK(legal, "unsupported attribute value (index)", static_cast<int64_t>(i));
    fields += fields->type == AttributeType::kRecords ? 1 + fields->limit : 1;
  }
  return Status();
}

}  // namespace trimtab
