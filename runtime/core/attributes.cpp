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

Status DecodeAttributes(const uint8_t* block, size_t bytes, const AttributeField* fields,
                        size_t count, void* out) {
  TRIMTAB_CHECK(bytes >= count * 8, "attribute block is too short", static_cast<int64_t>(count * 8),
                static_cast<int64_t>(bytes));
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* slot = block + i * 8;
    uint8_t* field = static_cast<uint8_t*>(out) + fields[i].offset;
    uint32_t word;
    memcpy(&word, slot, sizeof(word));
    bool legal = true;
    switch (fields[i].type) {
      case AttributeType::kInt: {
        int64_t value;
        memcpy(&value, slot, sizeof(value));
        legal = fields[i].limit == 0 || (value >= fields[i].least && value <= fields[i].limit);
        memcpy(field, &value, sizeof(value));
        break;
      }
      case AttributeType::kFloat:
      case AttributeType::kOp:
        memcpy(field, slot, sizeof(uint32_t));
        break;
      case AttributeType::kBool:
        legal = word <= 1;
        *field = static_cast<uint8_t>(word & 1);
        break;
      case AttributeType::kEnum:
        legal = word < fields[i].limit;
        memcpy(field, &word, sizeof(word));
        break;
      case AttributeType::kKernel:
        memcpy(field, slot, sizeof(KernelRef));
        break;
      case AttributeType::kInts:
        legal = DecodeList<IntList, int64_t>(block, bytes, slot, fields[i].limit, field);
        break;
      case AttributeType::kFloats:
        legal = DecodeList<FloatList, float>(block, bytes, slot, fields[i].limit, field);
        break;
    }
    TRIMTAB_CHECK(legal, "attribute is out of range (its index)", static_cast<int64_t>(i));
  }
  return Status();
}

}  // namespace trimtab
