#include "runtime/core/registry.h"

namespace trimtab {

const RunTimeOperators* run_time_operators = nullptr;

const OperatorRow* FindOperator(uint16_t id) {
  for (size_t i = 0; i < kOperatorTableSize; ++i) {
    if (kOperatorTable[i].id == id) return &kOperatorTable[i];
  }
  return run_time_operators != nullptr ? run_time_operators->find(id) : nullptr;
}

const OperatorFactory& FactoryFor(const OperatorRow& row, DType dtype) {
  uint8_t i = 0;
  while (i + 1 < row.factory_count && row.factories[i]->dtype != dtype) ++i;
  return *row.factories[i];
}

}  // namespace trimtab
