/* Plug-ins with one thing wrong, which the macro that is defined names. */
#include "trimtab_plugin.h"

static const char* shape(trimtab_call* call) {
  trimtab_copy_shape(call->outputs[0], call->inputs[0]);
  return NULL;
}

#ifdef UNRESOLVED
void nobody_defines_this(void);
#endif

#ifdef CRASHES
__attribute__((constructor)) static void crash(void) { __builtin_trap(); }
#endif

static void run(trimtab_call* call) {
#ifdef UNRESOLVED
  nobody_defines_this();
#endif
  (void)call;
}

static const trimtab_operator bad = {
#ifdef SMALL_STRUCT
    .struct_size = sizeof(trimtab_operator) - sizeof(void*),
#else
    .struct_size = sizeof(trimtab_operator),
#endif
#ifdef WRONG_OPERATOR_ABI
    .abi = TRIMTAB_PLUGIN_ABI + 1,
#else
    .abi = TRIMTAB_PLUGIN_ABI,
#endif
#ifdef BUILT_IN
    .type = "relu",
#elif defined(TAKEN)
    .type = "weave",
#else
    .type = "bad",
#endif
    .least_inputs = 1,
    .most_inputs = 1,
    .least_outputs = 1,
    .most_outputs = 1,
    .dtypes = 1u << TRIMTAB_F32,
    .shape = shape,
    .run = run,
};

static const trimtab_operator good = {
    .struct_size = sizeof(trimtab_operator),
    .abi = TRIMTAB_PLUGIN_ABI,
    .type = "good",
    .least_inputs = 1,
    .most_inputs = 1,
    .least_outputs = 1,
    .most_outputs = 1,
    .dtypes = 1u << TRIMTAB_F32,
    .shape = shape,
    .run = run,
};

/* `good` comes first: a library is loaded whole or not at all. */
static const trimtab_operator* const operators[] = {&good, &bad, NULL};

#ifndef NO_ENTRY
TRIMTAB_PLUGIN_EXPORT_ const trimtab_plugin* trimtab_plugin_entry(uint32_t abi);
const trimtab_plugin* trimtab_plugin_entry(uint32_t abi) {
  static const trimtab_plugin plugin = {
#ifdef SMALL_PLUGIN
      sizeof(trimtab_plugin) - sizeof(void*),
#else
      sizeof(trimtab_plugin),
#endif
#ifdef WRONG_ABI
      TRIMTAB_PLUGIN_ABI + 1,
#else
      TRIMTAB_PLUGIN_ABI,
#endif
      "bad", operators};
  (void)abi;
#ifdef UNWILLING
  return NULL;
#endif
  return &plugin;
}
#endif
