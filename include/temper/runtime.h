/* Running tuned models from C or any language that can call C. Link with libtemper_runtime: it needs no compiler, no
 * tuner.
 *
 *     temper_error error = {0};
 *     temper_model* model = temper_model_load("model.temper", 2, &error);
 *     if (model == NULL) { fprintf(stderr, "%s\n", error.message); return 1; }
 *     const void* inputs[] = {image};
 *     void* outputs[] = {scores};
 *     if (temper_model_run(model, inputs, 1, outputs, 1, &error) != TEMPER_OK) ...
 *     temper_model_free(model);
 *
 * Tensors are row-major. Every function may be called from any thread; runs of one model take turns. An `error`
 * argument may be NULL. Nothing here aborts, prints or throws.
 */
#ifndef TEMPER_RUNTIME_H_
#define TEMPER_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct temper_model temper_model;

typedef enum temper_status {
  TEMPER_OK = 0,
  TEMPER_INVALID_ARGUMENT = 1,
  TEMPER_INVALID_MODEL = 2,
  TEMPER_UNSUPPORTED = 3, /* for example a CPU without the vector instructions that the model was built for */
  TEMPER_NOT_FOUND = 4,
  TEMPER_IO = 5,
  TEMPER_CORRUPT = 6, /* the file is no bundle, cut short or damaged */
  TEMPER_VERSION = 7, /* the file was written by a newer Temper */
  TEMPER_INTERNAL = 8 /* a bug of Temper's, or no memory */
} temper_status;

typedef struct temper_error {
  temper_status status;
  char message[512]; /* what, where and how to mend it; cut off when it is longer; empty without an error */
} temper_error;

/* Element types; the values equal those of `enum temper_dtype` in target/artifact_abi.h. */
typedef enum temper_element_type {
  TEMPER_ELEMENT_F32 = 0,
  TEMPER_ELEMENT_F64 = 1,
  TEMPER_ELEMENT_I8 = 2,
  TEMPER_ELEMENT_U8 = 3,
  TEMPER_ELEMENT_I32 = 4,
  TEMPER_ELEMENT_I64 = 5,
  TEMPER_ELEMENT_BOOL = 6
} temper_element_type;

/* What a model takes or gives. Pointers live as long as the model. */
typedef struct temper_tensor_info {
  const char* name;
  temper_element_type type;
  int32_t rank;
  const int64_t* shape; /* `rank` sizes */
  int64_t bytes;
} temper_tensor_info;

/* Loads a bundle and prepares it for `threads` threads, 1 to 1024. NULL on failure. */
temper_model* temper_model_load(const char* path, int threads, temper_error* error);

/* Frees the model; NULL is fine. */
void temper_model_free(temper_model* model);

/* How many inputs and outputs there are; 0 when the model is NULL. */
int32_t temper_model_input_count(const temper_model* model);
int32_t temper_model_output_count(const temper_model* model);

/* Facts about the `index`-th input or output. TEMPER_INVALID_ARGUMENT when there is none, or the model
 * is NULL. */
temper_status temper_model_input(const temper_model* model, int32_t index, temper_tensor_info* info);
temper_status temper_model_output(const temper_model* model, int32_t index, temper_tensor_info* info);

/* Runs the model once. One pointer for each input and output, in order, each to `bytes` bytes of the tensor. Memory
 * aligned to 64 bytes is used in place, other memory is copied. Inputs and outputs must not overlap. */
temper_status temper_model_run(temper_model* model, const void* const* inputs, int32_t input_count,
                               void* const* outputs, int32_t output_count, temper_error* error);

/* The message of the last failure on the calling thread, empty if there was none. Valid until the thread's next
 * failure. */
const char* temper_last_error(void);

/* Version of the library, "0.1.2". */
const char* temper_runtime_version(void);

#ifdef __cplusplus
}
#endif
#endif /* TEMPER_RUNTIME_H_ */
