/* trimtab's C API: load a .ttm model and run it. Stable; handles are opaque.
 *
 *   trimtab_model* model;
 *   char why[256];
 *   if (trimtab_open_file("net.ttm", NULL, &model, why, sizeof why) != 0) {
 *     fputs(why, stderr);
 *     exit(1);
 *   }
 *   // float32, NCHW; used in place
 *   if (trimtab_set_input(model, 0, image, sizeof image) != 0 || trimtab_run(model) != 0) {
 *     fputs(trimtab_last_error(model), stderr);
 *     exit(1);
 *   }
 *   trimtab_tensor out;
 *   trimtab_output(model, 0, &out);
 *   printf("%g\n", ((const float*)out.data)[0]);       // valid until the next run
 *   trimtab_close(model);
 *
 * Functions return 0, or one of the codes below. A model is used by one thread at a time. Nothing
 * is allocated by trimtab_run, and no function writes to stdout or stderr. Pointers must not be null
 * unless a comment allows it; trimtab_close ignores a null model. */
#ifndef TRIMTAB_H_
#define TRIMTAB_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; see also trimtab_version. */
#define TRIMTAB_VERSION_MAJOR 0
#define TRIMTAB_VERSION_MINOR 1
#define TRIMTAB_VERSION_PATCH 0
#define TRIMTAB_VERSION "0.1.0"

enum {
  TRIMTAB_OK = 0,
  TRIMTAB_BAD_FILE = 1,       /* not a .ttm file, truncated or damaged */
  TRIMTAB_BAD_VERSION = 2,    /* another format version or operator schema */
  TRIMTAB_BAD_PROGRAM = 3,    /* an operator's inputs, shapes or attributes violate its rules */
  TRIMTAB_MISSING_OP = 4,     /* the operator was trimmed from this binary */
  TRIMTAB_MISSING_KERNEL = 5, /* the kernel was trimmed away, or the CPU lacks its instructions */
  TRIMTAB_OUT_OF_MEMORY = 6,
  TRIMTAB_BAD_ARGUMENT = 7,
  TRIMTAB_IO = 8,
  TRIMTAB_MEMORY_LIMIT = 9,  /* more memory than trimtab_options allows */
  TRIMTAB_BAD_PLUGIN = 10,   /* no plug-in, another ABI, or an operator's name is taken */
  TRIMTAB_STATIC_BINARY = 11 /* a static binary cannot load plug-ins */
};

typedef struct trimtab_model trimtab_model;

typedef struct trimtab_tensor {
  const char* name; /* "" if the model contains no names */
  void* data;       /* null: an input that is not set */
  size_t bytes;
  int32_t dims[8]; /* logical: n, c, h, w */
  int32_t rank;
  int32_t dtype; /* 1 f32, 2 f16, 3 i8, 4 u8, 5 i32, 6 i64, 7 bool, 8 f64, 9 i16, 10 u16, 11 u32 */
} trimtab_tensor;

typedef struct trimtab_memory {
  size_t arena_bytes;             /* activations and scratch */
  size_t arena_lower_bound_bytes; /* minimum of any plan: maximum size of live tensors */
  size_t weights_bytes;           /* in the file: the system can drop and reload its pages */
  size_t prepared_bytes;          /* weights transformed or expanded when the model was opened */
} trimtab_memory;

/* Options of opening a model. Zeros, or a null pointer, select the defaults: begin with
 * `trimtab_options options = {0}`, because later versions may add members. */
typedef struct trimtab_options {
  int32_t threads; /* 0: one */
  /* Limit of the arena and prepared weights together, also after an input is resized; 0: 2 GiB, and
   * 8 bytes more for each byte of the model, which its prepared weights never exceed. A limit beyond
   * the address space has no effect. The arena's memory is not touched before the first run. */
  uint64_t max_memory_bytes;
  /* 1: opening does not compare the weights with their checksum, for callers that trust the storage
   * or call trimtab_verify later. Running is safe whatever the weights are. */
  int32_t trust_weights;
} trimtab_options;

/* Opens a model file, which is mapped, or a model in memory (64-byte aligned, must outlive the
 * model). `options` may be null. Damaged weights are an error (TRIMTAB_BAD_FILE). `why`, if not
 * null, receives one line of text on failure; for a file that cannot be opened, with its path and
 * the system's reason. */
int trimtab_open_file(const char* path, const trimtab_options* options, trimtab_model** model,
                      char* why, size_t why_size);
int trimtab_open_memory(const void* data, size_t size, const trimtab_options* options,
                        trimtab_model** model, char* why, size_t why_size);
/* The same for unmodified pages of a file, such as a model that is linked into the program: pages
 * that only opening has read are returned to the system. */
int trimtab_open_mapped(const void* data, size_t size, const trimtab_options* options,
                        trimtab_model** model, char* why, size_t why_size);
/* Compares all weights with their checksum, as opening does unless they are trusted: for processes
 * with a long life. */
int trimtab_verify(trimtab_model* model);
void trimtab_close(trimtab_model* model);

/* Makes a model file from an earlier one and their difference (delta OLD NEW), and checks the
 * result. `model_bytes`: the capacity of `model`, then the size of the new file.
 * TRIMTAB_BAD_ARGUMENT if the capacity is smaller, `model` is null, or `old_model` is not the file
 * that the difference is from; TRIMTAB_BAD_FILE if difference or result are damaged: `model` must
 * not be used then. */
int trimtab_apply_delta(const void* old_model, size_t old_bytes, const void* delta,
                        size_t delta_bytes, void* model, size_t* model_bytes);

uint32_t trimtab_input_count(const trimtab_model* model);
uint32_t trimtab_output_count(const trimtab_model* model);
int trimtab_input(const trimtab_model* model, uint32_t index, trimtab_tensor* tensor);
/* Sizes that depend on data are the largest ones before trimtab_run, then those of the last run. */
int trimtab_output(const trimtab_model* model, uint32_t index, trimtab_tensor* tensor);
/* The index of the input or output of that name; TRIMTAB_NO_INDEX, for which every function returns
 * TRIMTAB_BAD_ARGUMENT, if there is none or the model contains no names. */
#define TRIMTAB_NO_INDEX UINT32_MAX
uint32_t trimtab_input_index(const trimtab_model* model, const char* name);
uint32_t trimtab_output_index(const trimtab_model* model, const char* name);

/* Points an input at the caller's data: row-major, of the input's type and exact size; must stay
 * valid during trimtab_run. */
int trimtab_set_input(trimtab_model* model, uint32_t index, const void* data, size_t bytes);

/* An image of a camera in the caller's memory (docs/camera.md): begin with `trimtab_image image =
 * {0}`. Zeros select what the model's camera says. */
typedef struct trimtab_image {
  int32_t format;        /* TRIMTAB_NV12, ...; 0: the model's */
  int32_t width, height; /* pixels */
  /* Of the format's planes: NV12: luma, then U and V in turn; I420: luma, U, V; others: one. */
  const void* planes[3];
  int32_t strides[3]; /* bytes between rows of each plane; 0: no padding */
  /* The part to use, in pixels; width and height 0: all of it. */
  int32_t crop_left, crop_top, crop_width, crop_height;
} trimtab_image;

enum {
  TRIMTAB_MODEL_FORMAT = 0,
  TRIMTAB_NV12 = 1,
  TRIMTAB_NV21 = 2,
  TRIMTAB_I420 = 3,
  TRIMTAB_YUYV = 4,
  TRIMTAB_UYVY = 5,
  TRIMTAB_RGB = 6,
  TRIMTAB_BGR = 7,
  TRIMTAB_RGBA = 8,
  TRIMTAB_BGRA = 9,
  TRIMTAB_GRAY = 10
};

/* Points an input behind a camera at an image, whose planes are used in place and must stay valid
 * during trimtab_run; `image` itself is copied. The image has the size that the model's camera
 * says, or one within its bounds. TRIMTAB_BAD_ARGUMENT if it has not, if a plane is missing, and for
 * inputs without a camera; the input then stays as it was. */
int trimtab_set_image(trimtab_model* model, uint32_t index, const trimtab_image* image);
/* Changes the dimensions of an input, with the same rank, if the program allows it. The input must
 * be set again, and outputs become invalid. After an error all sizes are as before. */
int trimtab_resize_input(trimtab_model* model, uint32_t index, const int32_t* dims, int32_t rank);
/* The same for all inputs together: rank and dims of `inputs`, one for each input, in order. Inputs
 * whose sizes change must be set again. Within the bounds of free dimensions
 * (docs/free-dimensions.md) memory is neither planned nor allocated. */
int trimtab_resize_inputs(trimtab_model* model, const trimtab_tensor* inputs);
int trimtab_run(trimtab_model* model);
/* The same, with the results in the caller's memory, where they are computed without a copy.
 * `outputs` has an address for each output, with room for trimtab_output's bytes and aligned for its
 * type, or null for an output that stays in the model's memory. It must not overlap that of inputs.
 * Outputs whose sizes depend on data stay in the model's memory, too: their addresses become null. */
int trimtab_run_into(trimtab_model* model, void** outputs);
/* Gives the states that a model keeps between runs (docs/states.md) their first values, as at a new
 * stream. TRIMTAB_BAD_ARGUMENT for a model that has none. In libraries of models that have states. */
int trimtab_reset(trimtab_model* model);

/* A box of a network with a head (docs/boxes.md), in pixels of the camera's image, or of the input
 * of a network without a camera. */
typedef struct trimtab_box {
  float xmin, ymin, xmax, ymax;
  float score;
  int32_t class_index;
  const char* label;   /* the class's; "" if the model contains no labels */
  const float* points; /* x, y and score of each keypoint; null: none */
  int32_t point_count;
} trimtab_box;

/* The number of boxes of an image, counted from 0, in the last run; 0 without a head. */
int32_t trimtab_box_count(const trimtab_model* model, int32_t image);
/* Box `index` of an image, best first; its pointers are valid until the next run. */
int trimtab_box_at(const trimtab_model* model, int32_t image, int32_t index, trimtab_box* box);
/* The label of a class; "" if the model contains none. */
const char* trimtab_label(const trimtab_model* model, int32_t class_index);

void trimtab_memory_use(const trimtab_model* model, trimtab_memory* memory);
/* The text of this model's last error; "" if there was none. Functions that only ask (of a const
 * model) leave it unchanged, and success does not clear it. */
const char* trimtab_last_error(const trimtab_model* model);

/* Training (docs/training.md), in libraries of `trimtab build --train`. The last inputs of such a model
 * are the values that a step changes: parameters, and states of the optimizer. A trainer holds them.
 * The other inputs (a batch, its labels, the learning rate) are set before each step. */
typedef struct trimtab_trainer trimtab_trainer;
/* Reads the values from the checkpoint `path`. `why`, if not null, receives one line on failure. The
 * trainer must be closed before the model. From then on, runs of the model overwrite the data of these
 * inputs, which must be set again, and writable, before it runs without the trainer. */
int trimtab_train_open(trimtab_model* model, const char* path, trimtab_trainer** trainer, char* why,
                       size_t why_size);
/* Runs the model, replaces the values, and sets `loss` to that before the update. */
int trimtab_train_step(trimtab_trainer* trainer, float* loss);
/* The number of completed steps, from the first training of the checkpoint on. */
uint64_t trimtab_train_steps(const trimtab_trainer* trainer);
/* Writes a checkpoint to `path`.partial and renames it: whenever the power fails, `path` is the old
 * or the new one. TRIMTAB_IO on failure, whose reason is in errno. */
int trimtab_train_save(trimtab_trainer* trainer, const char* path);
/* Frees the values: inputs that have them are no longer set. */
void trimtab_train_close(trimtab_trainer* trainer);

/* Called before (begin = 1) and after (begin = 0) every operator; null turns it off. */
typedef void (*trimtab_observer)(void* context, uint32_t op_index, int begin);
void trimtab_set_observer(trimtab_model* model, trimtab_observer observer, void* context);
/* Each thread of the model extends its entry of `spans` (the first is the caller's) by its share of
 * the work: [begin, end] in nanoseconds of CLOCK_MONOTONIC; an end of 0 starts a new span. Null
 * turns it off. Operators that run in one thread do not change them. */
void trimtab_time_shares(trimtab_model* model, uint64_t (*spans)[2]);
uint32_t trimtab_op_count(const trimtab_model* model);
/* An operator's name in the model, and the id of its type (runtime/ops/<type>.toml). */
const char* trimtab_op_name(const trimtab_model* model, uint32_t op_index, uint16_t* type_id);

/* Operators registered at run time (trimtab_plugin.h, docs/run-time-plugins.md), for models that are
 * opened later. A name that is taken is an error (TRIMTAB_BAD_PLUGIN); `why`, if not null, receives
 * one line that names both origins. No other thread may open, run or close a model meanwhile. */
typedef struct trimtab_library trimtab_library;
struct trimtab_operator;
/* Registers an operator of this program, which may be static; everything `op` points to must stay
 * valid. */
int trimtab_register_operator(const struct trimtab_operator* op, char* why, size_t why_size);
/* Registers the operators of a shared library. `library`, if not null, receives the handle to unload
 * it; otherwise it stays loaded. In a static binary the result is TRIMTAB_STATIC_BINARY. */
int trimtab_load_plugin(const char* path, trimtab_library** library, char* why, size_t why_size);
/* TRIMTAB_BAD_ARGUMENT while an open model uses it. Null has no effect. */
int trimtab_unload_plugin(trimtab_library* library);

/* The TRIMTAB_VERSION of the library, which differs from the header's if they do not match. */
const char* trimtab_version(void);
/* A text for one of the codes above; "" if the library was built without strings. */
const char* trimtab_status_text(int status);

/* The operator schema this binary was generated from, and the CPU features it may use (names joined
 * by commas in `names`). The environment variable TRIMTAB_ISA limits them to those of an instruction
 * set (kernels/isa.toml); if it names none, no model can be opened (TRIMTAB_BAD_ARGUMENT). */
uint64_t trimtab_schema_hash(void);
void trimtab_cpu_features(char* names, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* TRIMTAB_H_ */
