// Operators that are registered while the program runs: what trimtab_plugin.h says, as rows and
// operators of the engine. Nothing else refers to it: a binary without them holds none of it.
#ifndef TRIMTAB_API_RUN_TIME_OPERATOR_H_
#define TRIMTAB_API_RUN_TIME_OPERATOR_H_

#include "runtime/api/trimtab_plugin.h"
#include "runtime/core/registry.h"
#include "runtime/core/text.h"

namespace trimtab {

// Who registers: a library's path, or a place in a program. For messages, and to know again.
struct Origin {
  const char* name;
};

// Adds an operator for as long as `origin` and what `given` points to stay. `given` itself is copied.
// False, and in `why` the reason with both places, when its name is taken or it breaks a rule. Not
// thread-safe: while no model is opened, run or closed.
bool RegisterOperator(const trimtab_operator& given, const Origin& origin, Text* why);

// Who registered the operator of this id; null: nobody.
const Origin* OriginOf(uint16_t id);

// Whether an open model has an operator of this origin.
bool IsInUse(const Origin& origin);
// Takes all operators of this origin out, of which none is in use.
void UnregisterOperators(const Origin& origin);

// Takes leave of an operator outside of an executor, which does it for its own.
void ReleaseOperator(const OperatorRow& row, Operator* op);

}  // namespace trimtab

#endif  // TRIMTAB_API_RUN_TIME_OPERATOR_H_
