#include "runtime/core/registry.h"

#include <string.h>

namespace trimtab {
namespace {

constexpr size_t kMaxPlugins = 32;
const OperatorRow* plugins[kMaxPlugins];
size_t plugin_count = 0;

}  // namespace

const OperatorRow* FindOperator(uint16_t id) {
  for (size_t i = 0; i < kOperatorTableSize; ++i) {
    if (kOperatorTable[i].id == id) return &kOperatorTable[i];
  }
  for (size_t i = 0; i < plugin_count; ++i) {
    if (plugins[i]->id == id) return plugins[i];
  }
  return nullptr;
}

const OperatorFactory& FactoryFor(const OperatorRow& row, DType dtype) {
  uint8_t i = 0;
  while (i + 1 < row.factory_count && row.factories[i]->dtype != dtype) ++i;
  return *row.factories[i];
}

Status RegisterOperator(const OperatorRow& row) {
  const auto taken = [&row](const OperatorRow& other) {
    return other.id == row.id || (row.name[0] != '\0' && strcmp(other.name, row.name) == 0);
  };
  for (size_t i = 0; i < kOperatorTableSize; ++i) {
    if (taken(kOperatorTable[i]))
      return Status(Code::kBadArgument, TRIMTAB_TEXT("an operator of this id or name exists"),
                    row.id);
  }
  for (size_t i = 0; i < plugin_count; ++i) {
    if (taken(*plugins[i]))
      return Status(Code::kBadArgument,
                    TRIMTAB_TEXT("an operator of this id or name is registered"), row.id);
  }
  if (plugin_count == kMaxPlugins)
    return Status(Code::kOutOfMemory, TRIMTAB_TEXT("too many registered operators"), kMaxPlugins);
  plugins[plugin_count++] = &row;
  return Status();
}

}  // namespace trimtab
