/* Operators from outside of trimtab, in C99 or C++. A plug-in needs this header only.
 * docs/run-time-plugins.md shows how to write, build and load one.
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
 * Rules that keep plug-ins compatible with later releases:
 *   - Every struct begins with its size, as compiled by the side that creates it. Members are only
 *     added at the end, never removed or redefined; members that a smaller struct lacks are zero.
 *   - Lists contain pointers to structs, so that a larger struct does not move its neighbors.
 *   - TRIMTAB_PLUGIN_ABI only grows if these rules must be broken. The engine refuses numbers that
 *     it does not know, and structs that are smaller than the first release's. */
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

/* An attribute of an operator in a model. Lists point into the model. */
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
  void* data;      /* null: not known yet */
  size_t bytes;    /* size of `data` */
  int32_t dims[8]; /* n, c, h, w */
  int32_t rank;
  int32_t dtype;
  int32_t layout;
} trimtab_operand;

/* An operator instance in an open model. It is set up once and then run by one thread at a time;
 * different instances may run concurrently. */
typedef struct trimtab_call {
  size_t struct_size;
  void* context; /* trimtab_operator.context */
  void* state;   /* owned by the plug-in: initially null; set by set_up, freed by destroy */
  const trimtab_attribute* const* attributes;
  const trimtab_operand* const* inputs; /* null: absent */
  trimtab_operand* const* outputs;
  uint32_t attribute_count, input_count, output_count;
  /* Set by prepare; run gets that much memory, 64-byte aligned, with undefined content. */
  size_t scratch_bytes;
  void* scratch;
} trimtab_call;

/* Functions that can fail return null, or an error text that outlives the call, such as a literal.
 * Opening the model then fails with it, and with the operator's position. */
typedef const char* (*trimtab_check)(trimtab_call* call);

typedef struct trimtab_operator {
  size_t struct_size;
  uint32_t abi;                       /* TRIMTAB_PLUGIN_ABI */
  const char* type;                   /* its name in models, in snake_case; must be unique */
  uint32_t least_inputs, most_inputs; /* 255: any number */
  uint32_t least_outputs, most_outputs;
  uint32_t optional_inputs; /* bit i: input i may be absent */
  uint32_t constant_inputs; /* bit i: input i is a weight, whose data prepare may read */
  uint32_t dtypes;          /* bits 1u << TRIMTAB_F32 ...: element types of inputs */
  int32_t layout;           /* of 4-D inputs, except weights, and outputs */
  /* "name:type" with int, float, bool, ints or floats, in the order of the schema, then null; or
   * null. */
  const char* const* attributes;
  void* context; /* for the plug-in's own use */
  /* In the order of their calls; all but shape and run may be null. prepare and run are not called
   * while no output has elements; an input may have none, unless shape refuses that. */
  trimtab_check set_up; /* once, with attributes, before the first shape */
  /* Sets dims and rank of outputs, and dtype if it differs from the first input's. */
  trimtab_check shape;
  trimtab_check prepare;               /* after each shape: sets scratch_bytes, may read weights */
  void (*run)(trimtab_call* call);     /* writes all outputs; cannot fail */
  void (*destroy)(trimtab_call* call); /* when the model is closed or fails to open */
} trimtab_operator;

/* The contents of a shared library. */
typedef struct trimtab_plugin {
  size_t struct_size;
  uint32_t abi; /* TRIMTAB_PLUGIN_ABI */
  const char* name;
  const trimtab_operator* const* operators; /* then null */
} trimtab_plugin;

/* The library's entry point. `abi`: the newest one that the engine supports. Null: the plug-in does
 * not support it. */
typedef const trimtab_plugin* (*trimtab_plugin_entry_function)(uint32_t abi);
#define TRIMTAB_PLUGIN_ENTRY "trimtab_plugin_entry"

#ifdef __cplusplus
#define TRIMTAB_PLUGIN_EXPORT_ extern "C" __attribute__((visibility("default")))
#else
#define TRIMTAB_PLUGIN_EXPORT_ __attribute__((visibility("default")))
#endif

/* Defines the entry point. `operators`: an array that ends with null. */
#define TRIMTAB_PLUGIN(name, operators)                                                     \
  TRIMTAB_PLUGIN_EXPORT_ const trimtab_plugin* trimtab_plugin_entry(uint32_t abi);          \
  TRIMTAB_PLUGIN_EXPORT_ const trimtab_plugin* trimtab_plugin_entry(uint32_t abi) {         \
    static const trimtab_plugin plugin = {sizeof(trimtab_plugin), TRIMTAB_PLUGIN_ABI, name, \
                                          operators};                                       \
    (void)abi;                                                                              \
    return &plugin;                                                                         \
  }

/* The attribute of that name; null if the operator declares none. */
static inline const trimtab_attribute* trimtab_find_attribute(const trimtab_call* call,
                                                              const char* name) {
  for (uint32_t i = 0; i < call->attribute_count; ++i) {
    const char *a = call->attributes[i]->name, *b = name;
    while (*a != '\0' && *a == *b) ++a, ++b;
    if (*a == *b) return call->attributes[i];
  }
  return NULL; /* NOLINT(modernize-use-nullptr): C has no other. */
}

/* The value of an attribute; 0 if the operator declares none of that name. */
static inline int64_t trimtab_int(const trimtab_call* call, const char* name) {
  const trimtab_attribute* const attribute = trimtab_find_attribute(call, name);
  return attribute ? attribute->i : 0;
}

static inline float trimtab_float(const trimtab_call* call, const char* name) {
  const trimtab_attribute* const attribute = trimtab_find_attribute(call, name);
  return attribute ? attribute->f : 0;
}

/* Number of elements of an operand. */
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
