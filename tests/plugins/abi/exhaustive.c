/* An operator that uses all that trimtab_plugin.h has, for tests of the ABI. It is compiled against
 * the header of each release that has been (the folders beside this file), and loaded by today's
 * engine.
 *
 * weave: y[n, c, h, w] = x * factors[c % count] + bias[c] - shift, in half the rows (every step-th);
 * z: how often it has run, in i64. */
#include <stdlib.h>

#include "trimtab_plugin.h"

struct state {
  int64_t runs;
};

static int living = 0;

static const char* set_up(trimtab_call* call) {
  struct state* state = calloc(1, sizeof *state);
  if (state == NULL) return "no memory";
  call->state = state;
  ++living;
  if (trimtab_int(call, "step") < 1) return "step must be at least 1";
  if (trimtab_find_attribute(call, "factors")->count == 0) return "factors are needed";
  if (trimtab_find_attribute(call, "nothing") != NULL) return "an attribute that nobody declared";
  return NULL;
}

static const char* shape(trimtab_call* call) {
  const trimtab_operand* x = call->inputs[0];
  trimtab_operand* y = call->outputs[0];
  if (x->rank != 4) return "x has other than 4 dimensions";
  trimtab_copy_shape(y, x);
  y->dims[2] = (int32_t)((x->dims[2] + trimtab_int(call, "step") - 1) / trimtab_int(call, "step"));
  call->outputs[1]->rank = 1;
  call->outputs[1]->dims[0] = 1;
  call->outputs[1]->dtype = TRIMTAB_I64;
  return NULL;
}

static const char* prepare(trimtab_call* call) {
  const trimtab_operand* bias = call->input_count > 1 ? call->inputs[1] : NULL;
  if (bias != NULL) {
    if (bias->data == NULL) return "the weights are not known";
    if (((const float*)bias->data)[0] != ((const float*)bias->data)[0])
      return "a weight is no number";
  }
  call->scratch_bytes = sizeof(float) * (size_t)call->inputs[0]->dims[1];
  return NULL;
}

/* In NHWC order, as the operator asks for. */
static void run(trimtab_call* call) {
  const trimtab_operand *x = call->inputs[0], *y = call->outputs[0];
  const float* bias =
      call->input_count > 1 && call->inputs[1] != NULL ? call->inputs[1]->data : NULL;
  const trimtab_attribute* factors = trimtab_find_attribute(call, "factors");
  const trimtab_attribute* shifts = trimtab_find_attribute(call, "shifts");
  struct state* state = call->state;
  const int64_t step = trimtab_int(call, "step");
  const size_t c = (size_t)x->dims[1], row = (size_t)x->dims[3] * c;
  float* addends = call->scratch;
  float shift = 0;
  for (uint32_t i = 0; i < shifts->count; ++i) shift += (float)shifts->ints[i];
  if (trimtab_int(call, "negative")) shift = -shift;
  for (size_t i = 0; i < c; ++i) addends[i] = (bias != NULL ? bias[i] : 0) - shift;
  for (int32_t n = 0; n < y->dims[0]; ++n) {
    for (int32_t h = 0; h < y->dims[2]; ++h) {
      const float* from =
          (const float*)x->data + ((size_t)n * (size_t)x->dims[2] + (size_t)(h * step)) * row;
      float* to = (float*)y->data + ((size_t)n * (size_t)y->dims[2] + (size_t)h) * row;
      for (size_t i = 0; i < row; ++i)
        to[i] = from[i] * factors->floats[i % c % factors->count] + addends[i % c];
    }
  }
  *(int64_t*)call->outputs[1]->data = ++state->runs;
}

static void destroy(trimtab_call* call) {
  free(call->state);
  if (call->state != NULL) --living;
}

/* For the test: how many uses were not destroyed. */
TRIMTAB_PLUGIN_EXPORT_ int weave_living(void);
int weave_living(void) { return living; }

static const char* const attributes[] = {"factors:floats", "shifts:ints", "step:int",
                                         "negative:bool", NULL};

static const trimtab_operator weave = {
    .struct_size = sizeof(trimtab_operator),
    .abi = TRIMTAB_PLUGIN_ABI,
    .type = "weave",
    .least_inputs = 1,
    .most_inputs = 2,
    .least_outputs = 2,
    .most_outputs = 2,
    .optional_inputs = 1u << 1,
    .constant_inputs = 1u << 1,
    .dtypes = 1u << TRIMTAB_F32,
    .layout = TRIMTAB_NHWC,
    .attributes = attributes,
    .set_up = set_up,
    .shape = shape,
    .prepare = prepare,
    .run = run,
    .destroy = destroy,
};

static const trimtab_operator* const operators[] = {&weave, NULL};
TRIMTAB_PLUGIN("exhaustive", operators)
