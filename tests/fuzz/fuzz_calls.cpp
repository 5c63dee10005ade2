// Fuzzes the C API: calls in any order, with any arguments that a caller can have.
#include "runtime/api/trimtab_plugin.h"
#include "tests/fuzz/subject.h"

namespace {

// Registers an operator with arbitrary counts, types and masks, complete or not; and an invalid
// library.
void Register(trimtab::Decisions& decisions) {
  static const char* const kNames[] = {"one", "two", "relu", "Bad name", "", nullptr};
  static const char* const kAttributes[] = {"a:int", "b:floats", "c:double", nullptr};
  trimtab_operator op = {};
  op.struct_size = sizeof(op) - decisions.Take() % 2;
  op.abi = TRIMTAB_PLUGIN_ABI + decisions.Take() % 2;
  op.type = kNames[decisions.Take() % 6];
  op.least_inputs = decisions.Take() % 4;
  op.most_inputs = decisions.Take() % 4 * 100;
  op.least_outputs = decisions.Take() % 3;
  op.most_outputs = decisions.Take() % 4 * 100;
  op.optional_inputs = decisions.Take();
  op.constant_inputs = decisions.Take();
  op.dtypes = decisions.Take();
  op.layout = decisions.Take() % 3;
  op.attributes = kAttributes + decisions.Take() % 4;
  if (decisions.Take() % 4 != 0) op.shape = [](trimtab_call*) -> const char* { return "no"; };
  if (decisions.Take() % 4 != 0) op.run = [](trimtab_call*) {};
  char why[64];
  trimtab_register_operator(&op, why, decisions.Take() % 65);
  trimtab_load_plugin("/dev/null", nullptr, why, sizeof(why));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  trimtab::Subject subject(data, size);
  trimtab::Decisions decisions = subject.decisions();
  for (int turn = 0; turn < 32 && decisions.more(); ++turn) {
    const uint8_t call = decisions.Take() % 11;
    if (call == 10) Register(decisions);
    subject.Open(1 + decisions.Take() % 2);
    trimtab_model* const model = subject.model();
    if (model == nullptr) return 0;
    const uint32_t index = decisions.Take() % 4;
    trimtab_tensor tensor = {};
    trimtab_memory memory = {};
    uint16_t type = 0;
    switch (call) {
      case 0:
        subject.Close();
        break;
      case 1:
        subject.SetInputs();
        break;
      case 2:
        if (trimtab_input(model, index, &tensor) == TRIMTAB_OK)
          subject.SetInput(index, tensor.bytes + decisions.Take() % 3 - 1);
        break;
      case 3:
        if (trimtab_run(model) == TRIMTAB_OK) subject.ReadOutputs();
        break;
      case 4:
        if (subject.RunInto()) subject.ReadOutputs();
        break;
      case 5:
        tensor.rank = 4;
        trimtab_input(model, index, &tensor);
        tensor.dims[decisions.Take() % 8] = decisions.Take() - 1;
        trimtab_resize_input(model, index, tensor.dims, tensor.rank + decisions.Take() % 3 - 1);
        break;
      case 6:
        trimtab_verify(model);
        trimtab_memory_use(model, &memory);
        break;
      case 7:
        trimtab_output(model, index, &tensor);
        break;
      case 8:
        trimtab_op_name(model, index * decisions.Take(), &type);
        trimtab_last_error(model);
        break;
      default:
        trimtab_set_observer(
            model, index % 2 == 0 ? nullptr : [](void*, uint32_t, int) {}, nullptr);
    }
  }
  return 0;
}
