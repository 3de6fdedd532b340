/* Kernels for tests, written by hand against the artifact interface. `KERNEL` picks one; each is compiled into a shared
 * object of its own, without sanitizers, as a compiled candidate would be. All but the first two groups compute
 * y[i] = 2 * x[i] + 1 over 1000 elements, with one flaw. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "temper/target/artifact_abi.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))
#define ARTIFACT(prepare_count_, prepare_)                                                                            \
  __attribute__((visibility("default"))) const struct temper_artifact temper_artifact = {TEMPER_ARTIFACT_MAGIC,       \
                                                                                         TEMPER_ARTIFACT_ABI_VERSION, \
                                                                                         COUNT(kBuffers),             \
                                                                                         prepare_count_,              \
                                                                                         COUNT(kRun),                 \
                                                                                         0,                           \
                                                                                         kBuffers,                    \
                                                                                         prepare_,                    \
                                                                                         kRun}

#define RIGHT 0
#define ADD 1
#define SCALE_PREPARED 2
#define TWO_PHASES 3
#define WRONG 4
#define UNWRITTEN 5
#define SEGFAULT 6
#define ILLEGAL 7
#define ABORT 8
#define EXIT 9
#define HANG 10
#define WRITE_PAST 11
#define READ_PAST 12
#define WRITE_FAR 13
#define WRITE_BEFORE 14
#define WRITE_INPUT 15
#define HUGE_WORKSPACE 16
#define HUGE_SCRATCH 17
#define EAT_MEMORY 18
#define DEEP_STACK 19
#define WRITE_SLACK 20
#define BAD_VERSION 21
#define BAD_MAGIC 22
#define STALE_WORKSPACE 23

#define N 1000

#if KERNEL == ADD /* z[i] = x[i] + y[i] over 64 elements, one iteration each */
static void run(void* const* b, void* scratch, int64_t begin, int64_t end) {
  (void)scratch;
  for (int64_t i = begin; i < end; ++i) ((float*)b[2])[i] = ((const float*)b[0])[i] + ((const float*)b[1])[i];
}
static const struct temper_buffer kBuffers[] = {{"x", TEMPER_INPUT, TEMPER_F32, 256, 1, 0},
                                                {"y", TEMPER_INPUT, TEMPER_F32, 256, 1, 0},
                                                {"z", TEMPER_OUTPUT, TEMPER_F32, 256, 1, 0}};
static const struct temper_phase kRun[] = {{run, 64, 0}};
ARTIFACT(0, 0);

#elif KERNEL == SCALE_PREPARED /* y[i] = x[i] * blob[i] + w[i] over 64 elements, blob = w * w */
static void prepare(void* const* b, void* scratch, int64_t begin, int64_t end) {
  (void)scratch;
  const float* w = b[1];
  for (int64_t i = begin; i < end; ++i) ((float*)b[2])[i] = w[i] * w[i];
}
static void run(void* const* b, void* scratch, int64_t begin, int64_t end) {
  (void)scratch;
  const float *x = b[0], *w = b[1], *blob = b[2];
  for (int64_t i = begin; i < end; ++i) ((float*)b[3])[i] = x[i] * blob[i] + w[i];
}
static const struct temper_buffer kBuffers[] = {{"x", TEMPER_INPUT, TEMPER_F32, 256, 1, 0},
                                                {"w", TEMPER_CONSTANT, TEMPER_F32, 256, 1, 0},
                                                {"blob", TEMPER_BLOB, TEMPER_F32, 256, 1, 0},
                                                {"y", TEMPER_OUTPUT, TEMPER_F32, 256, 1, 0}};
static const struct temper_phase kPrepare[] = {{prepare, 64, 0}}, kRun[] = {{run, 64, 0}};
ARTIFACT(1, kPrepare);

#elif KERNEL == TWO_PHASES /* y[i] = 2 * x[63 - i]: the first phase doubles into the workspace (by way of scratch), \
                              the second reverses */
static void twice(void* const* b, void* scratch, int64_t begin, int64_t end) {
  float* s = scratch;
  for (int64_t i = begin; i < end; ++i) {
    for (int k = 0; k < 32; ++k) s[k] = ((const float*)b[0])[i] * 2;
    ((float*)b[2])[i] = s[i % 32];
  }
}
static void reverse(void* const* b, void* scratch, int64_t begin, int64_t end) {
  (void)scratch;
  for (int64_t i = begin; i < end; ++i) ((float*)b[1])[i] = ((const float*)b[2])[63 - i];
}
static const struct temper_buffer kBuffers[] = {{"x", TEMPER_INPUT, TEMPER_F32, 256, 1, 0},
                                                {"y", TEMPER_OUTPUT, TEMPER_F32, 256, 1, 0},
                                                {"sums", TEMPER_WORKSPACE, TEMPER_F32, 256, 1, 0}};
static const struct temper_phase kRun[] = {{twice, 64, 128}, {reverse, 64, 0}};
ARTIFACT(0, 0);

#else
static void compute(void* const* b, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) ((float*)b[1])[i] = ((const float*)b[0])[i] * 2 + 1;
}
#if KERNEL == DEEP_STACK
static __attribute__((noinline)) int descend(volatile char* above, int depth) {
  volatile char frame[4096];
  frame[0] = above[0];
  return depth == 0 ? frame[0] : descend(frame, depth - 1) + frame[0];
}
#endif

static void run(void* const* b, void* scratch, int64_t begin, int64_t end) {
  (void)scratch;
  compute(b, begin, end);
  float* y = b[1];
#if KERNEL == WRONG
  if (begin <= 700 && 700 < end) y[700] += 0.5f;
#elif KERNEL == UNWRITTEN
  if (begin == 0) memset(y, 0xff, 4); /* NaN, as if never written */
#elif KERNEL == SEGFAULT
  *(volatile int*)8 = 1;
#elif KERNEL == ILLEGAL
  __builtin_trap();
#elif KERNEL == ABORT
  abort();
#elif KERNEL == EXIT
  _Exit(3);
#elif KERNEL == HANG
  for (;;) __asm__ volatile("pause");
#elif KERNEL == WRITE_PAST
  if (end == N)
    for (int i = 0; i < 40; ++i) y[N + i] = 7;
#elif KERNEL == READ_PAST
  const volatile float* x = b[0];
  if (end == N) y[0] += 0 * x[N + 24]; /* the buffer's 4000 bytes end 96 bytes before this: behind its cache line */
#elif KERNEL == WRITE_FAR
  if (end == N) y[N + 100000] = 7;
#elif KERNEL == WRITE_BEFORE
  if (begin == 0) y[-1] = 7;
#elif KERNEL == WRITE_INPUT
  ((float*)b[0])[begin] = 7;
#elif KERNEL == WRITE_SLACK
  if (end == N) y[N] = 7; /* inside the padding to 64 bytes */
#elif KERNEL == EAT_MEMORY
  for (;;) memset(malloc(16 << 20), 1, 16 << 20);
#elif KERNEL == DEEP_STACK
  volatile char top[1] = {0};
  y[0] += (float)descend(top, 1 << 20);
#elif KERNEL == STALE_WORKSPACE
  y[3] += ((const float*)b[2])[5]; /* nothing wrote it */
#endif
}
static const struct temper_buffer kBuffers[] = {
    {"x", TEMPER_INPUT, TEMPER_F32, 4 * N, 1, 0},
    {"y", TEMPER_OUTPUT, TEMPER_F32, 4 * N, 1, 0},
#if KERNEL == HUGE_WORKSPACE
    {"w", TEMPER_WORKSPACE, TEMPER_F32, (int64_t)1 << 42, 1, 0},
#elif KERNEL == STALE_WORKSPACE
    {"w", TEMPER_WORKSPACE, TEMPER_F32, 4096, 1, 0},
#endif
};
#if KERNEL == HUGE_SCRATCH
static const struct temper_phase kRun[] = {{run, N, (int64_t)1 << 42}};
#else
static const struct temper_phase kRun[] = {{run, N, 0}};
#endif
#if KERNEL == BAD_VERSION
const struct temper_artifact temper_artifact = {
    TEMPER_ARTIFACT_MAGIC, 99, COUNT(kBuffers), 0, COUNT(kRun), 0, kBuffers, 0, kRun};
#elif KERNEL == BAD_MAGIC
const struct temper_artifact temper_artifact = {
    1, TEMPER_ARTIFACT_ABI_VERSION, COUNT(kBuffers), 0, COUNT(kRun), 0, kBuffers, 0, kRun};
#else
ARTIFACT(0, 0);
#endif
#endif
