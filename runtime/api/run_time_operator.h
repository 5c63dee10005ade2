// Operators registered at run time: the declarations of trimtab_plugin.h as rows and operators of
// the engine. Nothing else refers to this file, so other binaries do not link it.
#ifndef TRIMTAB_API_RUN_TIME_OPERATOR_H_
#define TRIMTAB_API_RUN_TIME_OPERATOR_H_

#include "runtime/api/trimtab_plugin.h"
#include "runtime/core/registry.h"
#include "runtime/core/text.h"

namespace trimtab {

// Origin of an operator: a library's path, or an address in the program. Used in messages and to
// recognize it.
struct Origin {
  const char* name;
};

// Registers an operator for as long as `origin` and everything that `declaration` points to exist;
// `declaration` itself is copied. Returns false, and in `why` the reason with both origins, if its name
// is taken or it violates a rule. Not thread-safe: no model may be opened, run or closed meanwhile.
bool RegisterOperator(const trimtab_operator& declaration, const Origin& origin, Text* why);

// Origin of the operator with this id; null: none.
const Origin* OriginOf(uint16_t id);

// True if an open model uses an operator of this origin.
bool IsInUse(const Origin& origin);
// Unregisters all operators of this origin; none may be in use.
void UnregisterOperators(const Origin& origin);

// Releases an operator outside of an executor, which releases its own.
void ReleaseOperator(const OperatorRow& row, Operator* op);

}  // namespace trimtab

#endif  // TRIMTAB_API_RUN_TIME_OPERATOR_H_
