/* Operators from outside of trimtab, in C99 or C++: all that one needs is this header.
 * docs/run-time-plugins.md shows how one is written, built and loaded.
 *
 *   static const char* shape(trimtab_call* call) {
 *     trimtab_copy_shape(call->outputs[0], call->inputs[0]);
 *     return NULL;
 *   }
 *   static void run(trimtab_call* call) {
 *     const float* x = call->inputs[0]->data;
 *     float* y = call->outputs[0]->data;
 *     for (size_t i = 0; i < trimtab_elements(call->inputs[0]); ++i)
 *       y[i] = trimtab_float(call, "factor") * x[i];
 *   }
 *   static const char* const attributes[] = {"factor:float", NULL};
 *   static const trimtab_operator twist = {
 *       .struct_size = sizeof(trimtab_operator), .abi = TRIMTAB_PLUGIN_ABI, .type = "twist",
 *       .least_inputs = 1, .most_inputs = 1, .least_outputs = 1, .most_outputs = 1,
 *       .dtypes = 1u << TRIMTAB_F32, .attributes = attributes, .shape = shape, .run = run,
 *   };
 *   static const trimtab_operator* const operators[] = {&twist, NULL};
 *   TRIMTAB_PLUGIN("mine", operators)
 *
 * The rules that keep a plug-in working with later releases:
 *   - Every struct begins with its size, as the side that makes it was compiled. Fields are added at
 *     the end and never removed or given another meaning; what a smaller struct lacks is zero.
 *   - Structs stand in lists of pointers, so that a larger one does not move its neighbors.
 *   - TRIMTAB_PLUGIN_ABI grows only if that cannot be kept. The engine refuses a number that it
 *     does not know, and a struct that is smaller than the first release's. */
#ifndef TRIMTAB_PLUGIN_H_
#define TRIMTAB_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRIMTAB_PLUGIN_ABI 1

/* Types of elements. */
enum {
  TRIMTAB_F32 = 1,
  TRIMTAB_F16 = 2,
  TRIMTAB_I8 = 3,
  TRIMTAB_U8 = 4,
  TRIMTAB_I32 = 5,
  TRIMTAB_I64 = 6,
  TRIMTAB_BOOL = 7
};

/* Memory order of 4-D tensors, whose dimensions are n, c, h, w in both; others are always plain. */
enum { TRIMTAB_PLAIN = 0, TRIMTAB_NHWC = 1 };

enum {
  TRIMTAB_INT = 0,
  TRIMTAB_FLOAT = 1,
  TRIMTAB_INTS = 2,
  TRIMTAB_FLOATS = 3
}; /* of attributes; a bool is an int */

/* An attribute of one use of an operator. Lists lie in the model and stay there. */
typedef struct trimtab_attribute {
  size_t struct_size;
  const char* name;
  int32_t type;
  uint32_t count; /* of a list */
  int64_t i;
  float f;
  const int64_t* ints;
  const float* floats;
} trimtab_attribute;

typedef struct trimtab_operand {
  size_t struct_size;
  void* data;      /* null where it is not known yet */
  size_t bytes;    /* behind `data` */
  int32_t dims[8]; /* n, c, h, w */
  int32_t rank;
  int32_t dtype;
  int32_t layout;
} trimtab_operand;

/* One use of an operator in an open model, which is set up once and then run by one thread at a
 * time; uses may run side by side. */
typedef struct trimtab_call {
  size_t struct_size;
  void* context; /* trimtab_operator.context */
  void* state;   /* the plug-in's: null at first; set_up makes what destroy frees */
  const trimtab_attribute* const* attributes;
  const trimtab_operand* const* inputs; /* an absent one is null */
  trimtab_operand* const* outputs;
  uint32_t attribute_count, input_count, output_count;
  /* prepare says how many bytes run needs; run has them, 64-byte aligned, with anything in them. */
  size_t scratch_bytes;
  void* scratch;
} trimtab_call;

/* What checks something returns null, or a text of what is wrong, which must outlive the call: a
 * literal. It becomes the error of opening the model, with the operator's place in it. */
typedef const char* (*trimtab_check)(trimtab_call* call);

typedef struct trimtab_operator {
  size_t struct_size;
  uint32_t abi;     /* TRIMTAB_PLUGIN_ABI */
  const char* type; /* its name in models, in snake_case; one that is taken is an error */
  uint32_t least_inputs, most_inputs; /* 255: any number */
  uint32_t least_outputs, most_outputs;
  uint32_t optional_inputs; /* bit i: input i may be absent */
  uint32_t constant_inputs; /* bit i: input i is a weight, whose data prepare sees already */
  uint32_t dtypes;          /* bit 1u << TRIMTAB_F32 ...: what inputs may hold */
  int32_t layout;           /* of 4-D inputs, but weights, and outputs */
  const char* const*
      attributes; /* "name:type" with int, float, bool, ints or floats, in the order of
                                    the schema, then null; or null */
  void* context;  /* for whatever the plug-in wants */
  /* In the order of their calls; null where there is nothing to do, but for shape and run. */
  trimtab_check set_up; /* once, with attributes, before the first shape */
  trimtab_check
      shape; /* sets dims and rank of outputs, and dtype where it is not the first input's */
  trimtab_check prepare; /* after each shape: sets scratch_bytes, has the data of weights */
  void (*run)(trimtab_call* call);     /* writes all of its outputs; cannot fail */
  void (*destroy)(trimtab_call* call); /* when the model is closed, also one that failed to open */
} trimtab_operator;

/* What a shared library gives to whoever loads it. */
typedef struct trimtab_plugin {
  size_t struct_size;
  uint32_t abi; /* TRIMTAB_PLUGIN_ABI */
  const char* name;
  const trimtab_operator* const* operators; /* then null */
} trimtab_plugin;

/* The one symbol that is looked for in it. `abi` is the newest one that the engine knows. Null: the
 * plug-in does not want to work with it. */
typedef const trimtab_plugin* (*trimtab_plugin_entry_function)(uint32_t abi);
#define TRIMTAB_PLUGIN_ENTRY "trimtab_plugin_entry"

#ifdef __cplusplus
#define TRIMTAB_PLUGIN_EXPORT_ extern "C" __attribute__((visibility("default")))
#else
#define TRIMTAB_PLUGIN_EXPORT_ __attribute__((visibility("default")))
#endif

/* Defines it. `operators`: an array that ends with null. */
#define TRIMTAB_PLUGIN(name, operators)                                                     \
  TRIMTAB_PLUGIN_EXPORT_ const trimtab_plugin* trimtab_plugin_entry(uint32_t abi);          \
  TRIMTAB_PLUGIN_EXPORT_ const trimtab_plugin* trimtab_plugin_entry(uint32_t abi) {         \
    static const trimtab_plugin plugin = {sizeof(trimtab_plugin), TRIMTAB_PLUGIN_ABI, name, \
                                          operators};                                       \
    (void)abi;                                                                              \
    return &plugin;                                                                         \
  }

/* The attribute of that name; null when the operator declares none. */
static inline const trimtab_attribute* trimtab_find_attribute(const trimtab_call* call,
                                                              const char* name) {
  for (uint32_t i = 0; i < call->attribute_count; ++i) {
    const char *a = call->attributes[i]->name, *b = name;
    while (*a != '\0' && *a == *b) ++a, ++b;
    if (*a == *b) return call->attributes[i];
  }
  return NULL;
}

/* The value of an attribute; 0 when the operator declares none of that name. */
static inline int64_t trimtab_int(const trimtab_call* call, const char* name) {
  const trimtab_attribute* const found = trimtab_find_attribute(call, name);
  return found != NULL ? found->i : 0;
}

static inline float trimtab_float(const trimtab_call* call, const char* name) {
  const trimtab_attribute* const found = trimtab_find_attribute(call, name);
  return found != NULL ? found->f : 0;
}

/* Elements of an operand. */
static inline size_t trimtab_elements(const trimtab_operand* operand) {
  size_t count = 1;
  for (int32_t i = 0; i < operand->rank; ++i) count *= (size_t)operand->dims[i];
  return count;
}

static inline void trimtab_copy_shape(trimtab_operand* to, const trimtab_operand* from) {
  to->rank = from->rank;
  for (int32_t i = 0; i < from->rank; ++i) to->dims[i] = from->dims[i];
}

#ifdef __cplusplus
}
#endif
#endif /* TRIMTAB_PLUGIN_H_ */
