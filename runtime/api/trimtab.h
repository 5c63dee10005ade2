/* trimtab's C API: load a .ttm model and run it. Stable; handles are opaque.
 *
 *   trimtab_model* model;
 *   char why[256];
 *   if (trimtab_open_file("net.ttm", NULL, &model, why, sizeof why) != 0) {
 *     fputs(why, stderr);
 *     exit(1);
 *   }
 *   trimtab_set_input(model, 0, image, sizeof image);  // float32, NCHW; used in place
 *   trimtab_run(model);
 *   trimtab_tensor out;
 *   trimtab_output(model, 0, &out);
 *   printf("%g\n", ((const float*)out.data)[0]);       // valid until the next run
 *   trimtab_close(model);
 *
 * Functions return 0, or one of the codes below. A model is used by one thread at a time. Nothing
 * is allocated by trimtab_run, and no function writes to stdout or stderr. */
#ifndef TRIMTAB_H_
#define TRIMTAB_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TRIMTAB_OK = 0,
  TRIMTAB_BAD_FILE = 1,       /* not a .ttm file, truncated or damaged */
  TRIMTAB_BAD_VERSION = 2,    /* another format version or operator schema */
  TRIMTAB_BAD_PROGRAM = 3,    /* an operator's inputs, shapes or attributes break its rules */
  TRIMTAB_MISSING_OP = 4,     /* the operator was trimmed from this binary */
  TRIMTAB_MISSING_KERNEL = 5, /* the kernel was trimmed away, or the CPU lacks its instructions */
  TRIMTAB_OUT_OF_MEMORY = 6,
  TRIMTAB_BAD_ARGUMENT = 7,
  TRIMTAB_IO = 8,
  TRIMTAB_MEMORY_LIMIT = 9, /* more memory than trimtab_options allows */
  TRIMTAB_BAD_PLUGIN =
      10, /* no plug-in, of another ABI, or with an operator that is there already */
  TRIMTAB_STATIC_BINARY = 11 /* which cannot load plug-ins */
};

typedef struct trimtab_model trimtab_model;

typedef struct trimtab_tensor {
  const char* name; /* "" when the model carries no names */
  void* data;       /* null for an input that is not set */
  size_t bytes;
  int32_t dims[8]; /* logical: n, c, h, w */
  int32_t rank;
  int32_t dtype; /* 1 f32, 2 f16, 3 i8, 4 u8, 5 i32, 6 i64, 7 bool */
} trimtab_tensor;

typedef struct trimtab_memory {
  size_t arena_bytes;             /* activations and scratch */
  size_t arena_lower_bound_bytes; /* no plan can be smaller: largest sum of tensors alive at once */
  size_t weights_bytes;           /* of the file: pages of it that are in use can be dropped */
  size_t prepared_bytes; /* weights that opening transformed or expanded, beside the file */
} trimtab_memory;

/* How a model is opened. Zeros, or no options at all, stand for the defaults: begin with
 * `trimtab_options options = {0}`, as later versions may have more of them. */
typedef struct trimtab_options {
  int32_t threads; /* 0: one */
  /* Most that the arena and prepared weights may take together, whatever size an input is given
   * later; 0, and what is more: 2 GiB. Memory of the arena is not touched before the first run. */
  uint64_t max_memory_bytes;
  /* 1: opening does not compare the weights with their checksum, for who knows that storage does not
   * damage them, or calls trimtab_verify at another time. Whatever they are, running is safe. */
  int32_t trust_weights;
} trimtab_options;

/* Opens a model file, which is mapped, or a model in memory (64-byte aligned, must outlive the
 * model); one whose weights are not those that were written is refused (TRIMTAB_BAD_FILE). `why`,
 * when not null, receives one line of text on failure. */
int trimtab_open_file(const char* path, const trimtab_options* options, trimtab_model** model,
                      char* why, size_t why_size);
int trimtab_open_memory(const void* data, size_t size, const trimtab_options* options,
                        trimtab_model** model, char* why, size_t why_size);
/* The same for pages of a file that nobody has written to, such as a model that is linked into the
 * program: what opening alone has read is given back to the system. */
int trimtab_open_mapped(const void* data, size_t size, const trimtab_options* options,
                        trimtab_model** model, char* why, size_t why_size);
/* Compares all weights with their checksum, as opening does unless they are trusted: for a process
 * that lives long. */
int trimtab_verify(trimtab_model* model);
void trimtab_close(trimtab_model* model);

uint32_t trimtab_input_count(const trimtab_model* model);
uint32_t trimtab_output_count(const trimtab_model* model);
int trimtab_input(const trimtab_model* model, uint32_t index, trimtab_tensor* tensor);
int trimtab_output(const trimtab_model* model, uint32_t index, trimtab_tensor* tensor);

/* Points an input at the caller's data: row-major, of the input's type and exact size; must stay
 * valid during trimtab_run. */
int trimtab_set_input(trimtab_model* model, uint32_t index, const void* data, size_t bytes);
/* Gives an input other dimensions of the same rank where the program allows it. The input has to be
 * set again, and outputs become invalid. After an error all sizes are as they were. */
int trimtab_resize_input(trimtab_model* model, uint32_t index, const int32_t* dims, int32_t rank);
int trimtab_run(trimtab_model* model);

void trimtab_memory_use(const trimtab_model* model, trimtab_memory* memory);
/* The text of the last failure of a function above on this model; "" if there was none. */
const char* trimtab_last_error(const trimtab_model* model);

/* Called around every operator (begin = 1 before, 0 after) when set; null turns it off. */
typedef void (*trimtab_observer)(void* context, uint32_t op_index, int begin);
void trimtab_set_observer(trimtab_model* model, trimtab_observer observer, void* context);
/* Has each thread of the model widen its one of `spans` (the first is the caller's) by its shares of
 * what runs: [begin, end] in nanoseconds of CLOCK_MONOTONIC, an end of 0 begins anew. Null turns it
 * off. An operator that is not shared leaves them as they are. */
void trimtab_time_shares(trimtab_model* model, uint64_t (*spans)[2]);
uint32_t trimtab_op_count(const trimtab_model* model);
/* Name of an operator in the model and the id of its type (runtime/ops/<type>.toml). */
const char* trimtab_op_name(const trimtab_model* model, uint32_t op_index, uint16_t* type_id);

/* Operators from outside (trimtab_plugin.h, docs/run-time-plugins.md), for models that are opened
 * later. A name that is taken is an error (TRIMTAB_BAD_PLUGIN); `why`, when not null, receives one
 * line that names both places. Not while another thread opens, runs or closes a model. */
typedef struct trimtab_library trimtab_library;
struct trimtab_operator;
/* One of this program, also of a static one; what it points to must stay. */
int trimtab_register_operator(const struct trimtab_operator* op, char* why, size_t why_size);
/* Those of a shared library. `library`, when not null, receives what unloads it; without, it stays
 * as long as the process. In a static binary TRIMTAB_STATIC_BINARY. */
int trimtab_load_plugin(const char* path, trimtab_library** library, char* why, size_t why_size);
/* TRIMTAB_BAD_ARGUMENT while an open model uses it. Null is nothing. */
int trimtab_unload_plugin(trimtab_library* library);

/* The operator schema this binary was generated from, and the CPU features it may use (names joined
 * by commas in `names`). TRIMTAB_ISA in the environment limits them to those of an instruction set
 * (kernels/isa.toml); where it names none, no model can be opened (TRIMTAB_BAD_ARGUMENT). */
uint64_t trimtab_schema_hash(void);
void trimtab_cpu_features(char* names, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* TRIMTAB_H_ */
