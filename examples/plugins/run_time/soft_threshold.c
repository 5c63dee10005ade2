/* The operator soft_threshold as a shared library in C99, with trimtab_plugin.h only. */
#include "trimtab_plugin.h"

static const char* set_up(trimtab_call* call) {
  return trimtab_float(call, "threshold") >= 0 ? NULL : "threshold must be at least 0";
}

static const char* shape(trimtab_call* call) {
  const trimtab_operand* x = call->inputs[0];
  const trimtab_operand* scale = call->input_count > 1 ? call->inputs[1] : NULL;
  if (x->rank < 2) return "x needs at least two dimensions";
  if (scale != NULL && (scale->rank != 1 || scale->dims[0] != x->dims[1]))
    return "scale needs one element for each channel of x";
  trimtab_copy_shape(call->outputs[0], x);
  return NULL;
}

static void run(trimtab_call* call) {
  const trimtab_operand* input = call->inputs[0];
  const float* x = input->data;
  const float* scale = call->input_count > 1 && call->inputs[1] ? call->inputs[1]->data : NULL;
  float* y = call->outputs[0]->data;
  const float threshold = trimtab_float(call, "threshold");
  const size_t channels = (size_t)input->dims[1];
  const size_t rows = channels * (size_t)input->dims[0];
  const size_t inner = rows != 0 ? trimtab_elements(input) / rows : 0;
  for (size_t row = 0; row < rows; ++row, x += inner, y += inner) {
    const float least = scale != NULL ? threshold * scale[row % channels] : threshold;
    for (size_t i = 0; i < inner; ++i)
      y[i] = x[i] > least ? x[i] - least : x[i] < -least ? x[i] + least : 0;
  }
}

static const char* const attributes[] = {"threshold:float", NULL};

static const trimtab_operator soft_threshold = {
    .struct_size = sizeof(trimtab_operator),
    .abi = TRIMTAB_PLUGIN_ABI,
    .type = "soft_threshold",
    .least_inputs = 1,
    .most_inputs = 2,
    .least_outputs = 1,
    .most_outputs = 1,
    .optional_inputs = 1u << 1,
    .constant_inputs = 1u << 1,
    .dtypes = 1u << TRIMTAB_F32,
    .layout = TRIMTAB_PLAIN,
    .attributes = attributes,
    .set_up = set_up,
    .shape = shape,
    .run = run,
};

static const trimtab_operator* const operators[] = {&soft_threshold, NULL};
TRIMTAB_PLUGIN("run_time", operators)
