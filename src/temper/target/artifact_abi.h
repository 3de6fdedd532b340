/* The binary interface of a compiled kernel ("artifact"), in C.
 *
 * An artifact is a position-independent shared object that exports one symbol, `temper_artifact`, of type
 * `struct temper_artifact`. It describes itself: whoever loads the bytes needs nothing else to run them.
 *
 * Calling convention: an entry is a list of phases that run one after another. A phase is a loop of `extent`
 * independent iterations; `fn(buffers, scratch, begin, end)` runs iterations [begin, end). Different ranges of one
 * phase may run on different threads at the same time, each with its own `scratch` of at least `scratch_bytes`, 64-byte
 * aligned. `buffers` is indexed like `temper_artifact::buffers`. Blobs and workspaces are 64-byte aligned. Inputs,
 * constants and outputs are as a rule, which makes for speed; one that is a part of something larger is aligned to its
 * elements alone.
 */
#ifndef TEMPER_TARGET_ARTIFACT_ABI_H_
#define TEMPER_TARGET_ARTIFACT_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEMPER_ARTIFACT_MAGIC 0x54504d52u /* "TPMR" */
#define TEMPER_ARTIFACT_ABI_VERSION 1u
#define TEMPER_ARTIFACT_SYMBOL "temper_artifact"

enum temper_role {
  TEMPER_INPUT = 0,    /* read by run */
  TEMPER_CONSTANT = 1, /* read by prepare; read by run only where `used_by_run` is set */
  TEMPER_OUTPUT = 2,   /* written by run */
  TEMPER_BLOB = 3,     /* zeroed by the caller, written by prepare, read by run; may be shared by content */
  TEMPER_WORKSPACE = 4 /* scratch memory shared by the phases of one run (or one prepare), contents undefined */
};

enum temper_dtype {
  TEMPER_F32 = 0,
  TEMPER_F64 = 1,
  TEMPER_I8 = 2,
  TEMPER_U8 = 3,
  TEMPER_I32 = 4,
  TEMPER_I64 = 5,
  TEMPER_BOOL = 6
};

struct temper_buffer {
  const char* name;
  int32_t role;  /* enum temper_role */
  int32_t dtype; /* enum temper_dtype */
  int64_t bytes;
  int32_t used_by_run;
  int32_t reserved;
};

typedef void (*temper_phase_fn)(void* const* buffers, void* scratch, int64_t begin, int64_t end);

struct temper_phase {
  temper_phase_fn fn;
  int64_t extent;        /* number of independent iterations, at least 1 */
  int64_t scratch_bytes; /* per thread */
};

struct temper_artifact {
  uint32_t magic;
  uint32_t abi_version;
  int32_t buffer_count;
  int32_t prepare_count; /* phases of prepare; 0 when nothing is prepared */
  int32_t run_count;     /* phases of run */
  int32_t reserved;
  const struct temper_buffer* buffers;
  const struct temper_phase* prepare;
  const struct temper_phase* run;
};

#ifdef __cplusplus
}
#endif
#endif /* TEMPER_TARGET_ARTIFACT_ABI_H_ */
