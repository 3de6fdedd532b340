// Plan: a model (or one kernel) ready to run. Tensors, the steps that compute them, the compiled artifacts and the
// constants. `graph` and `compile` produce plans, `bundle.h` stores them, `Executor` runs them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "temper/runtime/memory.h"
#include "temper/target/artifact_abi.h"

namespace temper::runtime {

enum class TensorKind : std::uint8_t {
  Input,         ///< memory of the caller, read only
  Output,        ///< memory of the caller; later steps may read it
  Constant,      ///< one of `Plan::constants`
  Intermediate,  ///< memory of the plan: a place in the arena
};

inline constexpr std::int32_t kNone = -1;

struct PlanTensor {
  std::string name;  ///< unique among inputs and among outputs; for the others it serves messages only
  temper_dtype dtype = TEMPER_F32;
  std::vector<std::int64_t> shape;  ///< row-major
  std::int64_t bytes = 0;           ///< at least the elements of `shape`; more where a layout pads
  TensorKind kind = TensorKind::Intermediate;
  /// Constant: index into `Plan::constants`.
  std::int32_t constant = kNone;
  /// A view: this tensor is `bytes` bytes of tensor `view_of`, from `view_offset` on (a multiple of its elements' size:
  /// kernels ask for no more of what they read and write). Views of views are fine. An output that is a view is copied
  /// to the caller when all steps are done.
  std::int32_t view_of = kNone;
  std::int64_t view_offset = 0;
  /// A view with gaps between its elements: how many elements apart neighbours along each axis of `shape` lie, nested
  /// as in row-major order. Empty: no gaps. What lies in the gaps belongs to others. `bytes` counts them, but for an
  /// output's: the caller's memory has none.
  std::vector<std::int64_t> strides;
  /// Intermediate that is no view: its place in the arena (a multiple of 64), given by `plan_memory`.
  std::int64_t arena_offset = kNone;
};

/// What stands behind one buffer of an artifact: a tensor from a byte offset on (a multiple of 64).
/// Blob and workspace buffers have `tensor == kNone`: the executor makes them, and steps with equal artifact and equal
/// constants share one blob.
struct Binding {
  std::int32_t tensor = kNone;
  std::int64_t offset = 0;
};

struct Step {
  std::string name;  ///< of the node or task; for timings and messages
  std::int32_t artifact = kNone;
  std::vector<Binding> buffers;  ///< one for each buffer of the artifact, in its order
};

struct Plan {
  std::vector<PlanTensor> tensors;
  std::vector<std::int32_t> inputs, outputs;  ///< tensor numbers, in the order of the model's interface
  std::vector<Step> steps;                    ///< in order of execution
  std::vector<Bytes> artifacts;               ///< shared objects, see target/artifact_abi.h
  std::vector<Bytes> constants;
  std::int64_t arena_bytes = 0;
  /// CPU features that the artifacts use, in Linux's spelling ("avx2", "avx512f", ...); loading checks that they are
  /// there.
  std::vector<std::string> cpu_features;
  /// Free text that travels with the plan: model name, target, versions, node-to-task map, ...
  std::map<std::string, std::string> metadata;

  /// Adds artifact bytes or a constant unless equal bytes are there already; returns the number.
  std::int32_t add_artifact(Bytes bytes);
  std::int32_t add_constant(Bytes bytes);
};

/// The tensor that owns the memory of `tensor`, and the byte offset in it: follows views to their end.
struct Storage {
  std::int32_t tensor = kNone;
  std::int64_t offset = 0;
};
Storage storage_of(const Plan& plan, std::int32_t tensor);

/// Bytes of one element. Throws Error{InvalidArgument} for a number that names no dtype.
std::int64_t element_bytes(temper_dtype dtype);
/// "f32", "i64", "bool", ...
const char* dtype_name(temper_dtype dtype);
/// Number of elements of a shape; 1 for a scalar.
std::int64_t element_count(const std::vector<std::int64_t>& shape);
/// Bytes from the first element of a tensor to its last, gaps included.
std::int64_t span_bytes(const PlanTensor& tensor);

/// Runs of bytes that lie without gaps: as many as the product of `counts`, `steps[i]` bytes apart along each axis.
struct Runs {
  std::int64_t bytes = 0;  ///< of each run
  std::vector<std::int64_t> counts, steps;
};
Runs runs_of(const PlanTensor& tensor);

/// Gives every intermediate its place in the arena and sets `arena_bytes`: tensors that are never alive at the same
/// step share memory. A tensor is alive from the first step bound to it, or to a view of it, to the last one (to the
/// end, where an output views it). Places the largest first, each at the lowest gap that fits (greedy by size:
/// Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020, section 4).
void plan_memory(Plan& plan);

/// Checks all that can be known without loading an artifact: numbers in range, views and bindings inside their tensors
/// and aligned (views to their elements, bindings to 64 bytes), strides nested, no cycle of views, constants as large
/// as stated, intermediates placed and, while alive, not overlapping. Throws Error{InvalidModel} that names the tensor
/// or step.
void validate(const Plan& plan);

}  // namespace temper::runtime
