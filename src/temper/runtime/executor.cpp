#include "temper/runtime/executor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "temper/runtime/artifact_image.h"
#include "temper/runtime/thread_pool.h"
#include "temper/support/error.h"
#include "temper/target/cpu_features.h"

namespace temper::runtime {
namespace {

[[noreturn]] void invalid(std::string what, std::string where) {
  throw Error(ErrorCode::InvalidModel, std::move(what), std::move(where));
}

bool is_aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % kAlignment == 0; }

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

void check_cpu_features(const Plan& plan) {
  const std::vector<std::string> present = target::cpu_features();
  std::string missing;
  for (const std::string& feature : plan.cpu_features) {
    if (!std::ranges::binary_search(present, feature)) missing += (missing.empty() ? "" : ", ") + feature;
  }
  if (!missing.empty()) {
    throw Error(ErrorCode::Unsupported, "this machine lacks CPU features that the kernels use: " + missing, {},
                "build the model again on this machine");
  }
}

/// Bytes [begin, end) of the tensor that owns the memory, or those of them that are in runs.
struct Extent {
  std::int32_t tensor = kNone;
  std::int64_t begin = 0, end = 0;
  Runs runs;
};

/// Columns of one row may be interleaved: they stay apart when all steps of both are multiples of one pitch and their
/// runs are apart within it.
bool overlap(const Extent& a, const Extent& b) {
  if (a.tensor != b.tensor || a.begin >= b.end || b.begin >= a.end) return false;
  std::int64_t pitch = 0;
  for (const Extent* extent : {&a, &b}) {
    for (const std::int64_t step : extent->runs.steps) pitch = std::gcd(pitch, step);
  }
  if (pitch == 0) return true;
  const std::int64_t first = a.begin % pitch, second = b.begin % pitch;
  if (first + a.runs.bytes > pitch || second + b.runs.bytes > pitch) return true;
  return first < second + b.runs.bytes && second < first + a.runs.bytes;
}

Extent extent_of(const Plan& plan, const Binding& binding, std::int64_t bytes) {
  const Storage storage = storage_of(plan, binding.tensor);
  const std::int64_t begin = storage.offset + binding.offset;
  const PlanTensor& tensor = plan.tensors[at(binding.tensor)];
  Extent extent{storage.tensor, begin, begin + bytes, {bytes, {}, {}}};
  // A buffer that is not the whole of a tensor with gaps may lie anywhere in them.
  if (!tensor.strides.empty() && binding.offset == 0 && bytes == span_bytes(tensor)) extent.runs = runs_of(tensor);
  return extent;
}

/// Checks one step against its artifact: as many buffers, each inside its tensor and of a role that its tensor can
/// play. `written` says which tensors hold values; the step's outputs are added.
void check_step(const Plan& plan, const Step& step, const ArtifactImage& image, std::vector<bool>& written) {
  const auto buffers = image.buffers();
  if (buffers.size() != step.buffers.size()) {
    invalid("it binds " + std::to_string(step.buffers.size()) + " buffers, its artifact has " +
                std::to_string(buffers.size()),
            step.name);
  }
  std::vector<Extent> reads, writes;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const temper_buffer& buffer = buffers[i];
    const Binding& binding = step.buffers[i];
    const std::string where = step.name + ", buffer " + buffer.name;
    const bool made_here = buffer.role == TEMPER_BLOB || buffer.role == TEMPER_WORKSPACE;
    if (made_here != (binding.tensor == kNone)) {
      invalid(made_here ? "blobs and workspaces are not bound to tensors" : "the buffer is bound to no tensor", where);
    }
    if (made_here) continue;
    if (binding.offset + buffer.bytes > plan.tensors[at(binding.tensor)].bytes) {
      invalid("it needs " + std::to_string(buffer.bytes) + " bytes, its tensor has " +
                  std::to_string(plan.tensors[at(binding.tensor)].bytes - binding.offset),
              where);
    }
    const Extent extent = extent_of(plan, binding, buffer.bytes);
    const TensorKind kind = plan.tensors[at(extent.tensor)].kind;
    if (buffer.role == TEMPER_CONSTANT && kind != TensorKind::Constant) invalid("its tensor is no constant", where);
    if (buffer.role == TEMPER_OUTPUT) {
      if (kind == TensorKind::Input || kind == TensorKind::Constant)
        invalid("it would write to an input or a constant", where);
      writes.push_back(extent);
    } else {
      if (!written[at(extent.tensor)]) invalid("it reads a tensor that no step before it has written", where);
      reads.push_back(extent);
    }
  }
  for (std::size_t i = 0; i < writes.size(); ++i) {
    for (const Extent& read : reads) {
      if (overlap(writes[i], read)) invalid("it writes over what it reads", step.name);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(writes[i], writes[j])) invalid("two of its outputs overlap", step.name);
    }
    written[at(writes[i].tensor)] = true;
  }
}

/// A buffer of a step whose address is known only when the caller's pointers are.
struct Late {
  std::size_t slot;     ///< in `pointers`
  std::int32_t tensor;  ///< an input or output that owns memory
  std::int64_t offset;
};

struct LoadedStep {
  std::size_t image = 0;
  std::vector<void*> pointers;  ///< what `run` passes to the phases
  std::vector<Late> late;
};

/// An output that is a view of something: copied when all steps are done.
struct CopyOut {
  std::size_t output;  ///< position in `plan.outputs`
  Storage from;
};

/// Copies the elements of a tensor out of what it views, without the gaps.
void gather(const PlanTensor& tensor, const void* from, void* to) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  if (tensor.strides.empty()) {
    std::memcpy(target, source, static_cast<std::size_t>(tensor.bytes));
    return;
  }
  const Runs runs = runs_of(tensor);
  const auto bytes = static_cast<std::size_t>(runs.bytes);
  const std::int64_t count = element_count(runs.counts);
  for (std::int64_t run = 0; run < count; ++run, target += bytes) {
    std::int64_t place = 0, rest = run;
    for (std::size_t i = runs.counts.size(); i-- > 0; rest /= runs.counts[i])
      place += rest % runs.counts[i] * runs.steps[i];
    std::memcpy(target, source + place, bytes);
  }
}

bool is_blob(const temper_buffer& buffer) { return buffer.role == TEMPER_BLOB; }

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct Executor::Impl {
  std::shared_ptr<const Plan> plan;
  ExecutorOptions options;
  std::optional<ThreadPool> pool;
  Scratch scratch;
  std::vector<ArtifactImage> images;
  BufferGroup memory;  ///< `arena` and `workspace`
  std::span<std::byte> arena, workspace;
  BufferGroup blobs;
  std::vector<LoadedStep> steps;
  std::vector<CopyOut> copies;
  std::vector<void*> outside;          ///< by tensor: memory of inputs and outputs during a run
  std::vector<AlignedBuffer> staging;  ///< by tensor: aligned copies of callers' memory that is not aligned
  std::vector<double> step_seconds;

  /// Memory of a tensor that is neither input nor output.
  void* inside(const Storage& storage) {
    const PlanTensor& tensor = plan->tensors[at(storage.tensor)];
    if (tensor.kind == TensorKind::Constant) {
      // Kernels take `void*` for every role; the interface promises that constants are only read.
      return const_cast<std::byte*>(plan->constants[at(tensor.constant)].data()) + storage.offset;
    }
    return arena.data() + tensor.arena_offset + storage.offset;
  }
  bool is_outside(std::int32_t tensor) const {
    const TensorKind kind = plan->tensors[at(tensor)].kind;
    return kind == TensorKind::Input || kind == TensorKind::Output;
  }

  void load();
  void load_step(const Step& step);
  void prepare_blobs();
  void* stage(std::int32_t tensor);
};

void Executor::Impl::load() {
  validate(*plan);
  check_cpu_features(*plan);
  images.reserve(plan->artifacts.size());
  for (const Bytes& artifact : plan->artifacts) images.push_back(ArtifactImage::load(artifact.span()));

  std::vector<bool> written(plan->tensors.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    written[i] = plan->tensors[i].kind == TensorKind::Input || plan->tensors[i].kind == TensorKind::Constant;
  }
  for (const Step& step : plan->steps) check_step(*plan, step, images[at(step.artifact)], written);
  for (const std::int32_t output : plan->outputs) {
    if (!written[at(storage_of(*plan, output).tensor)])
      invalid("no step writes this output", plan->tensors[at(output)].name);
  }

  pool.emplace(options.threads, options.cpus);
  std::int64_t scratch_bytes = 0, workspace_bytes = 0;
  for (const ArtifactImage& image : images) {
    scratch_bytes = std::max(scratch_bytes, image.scratch_bytes());
    std::int64_t sum = 0;
    for (const temper_buffer& buffer : image.buffers()) {
      if (buffer.role == TEMPER_WORKSPACE) sum += align_up(buffer.bytes);
    }
    workspace_bytes = std::max(workspace_bytes, sum);
  }
  memory = BufferGroup(std::array{plan->arena_bytes, workspace_bytes});
  arena = memory[0];
  workspace = memory[1];
  scratch.reserve(options.threads, scratch_bytes);

  steps.reserve(plan->steps.size());
  for (const Step& step : plan->steps) load_step(step);
  prepare_blobs();

  for (std::size_t i = 0; i < plan->outputs.size(); ++i) {
    const std::int32_t output = plan->outputs[i];
    if (plan->tensors[at(output)].view_of != kNone) copies.push_back({i, storage_of(*plan, output)});
  }
  outside.resize(plan->tensors.size());
  staging.resize(plan->tensors.size());
  if (options.time_steps) step_seconds.resize(steps.size());
}

void Executor::Impl::load_step(const Step& step) {
  LoadedStep loaded{at(step.artifact), {}, {}};
  const auto buffers = images[loaded.image].buffers();
  std::byte* next_workspace = workspace.data();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    void* pointer = nullptr;  // blobs follow in `prepare_blobs`
    if (buffers[i].role == TEMPER_WORKSPACE) {
      pointer = next_workspace;
      next_workspace += align_up(buffers[i].bytes);
    } else if (buffers[i].role != TEMPER_BLOB) {
      Storage storage = storage_of(*plan, step.buffers[i].tensor);
      storage.offset += step.buffers[i].offset;
      if (is_outside(storage.tensor)) {
        loaded.late.push_back({i, storage.tensor, storage.offset});
      } else {
        pointer = inside(storage);
      }
    }
    loaded.pointers.push_back(pointer);
  }
  steps.push_back(std::move(loaded));
}

/// Runs `prepare` once for each distinct pair of artifact and constants, so that equal steps share their blobs.
void Executor::Impl::prepare_blobs() {
  using Key =
      std::pair<std::size_t, std::vector<void*>>;  // equal constants were made one when they were added to the plan
  std::map<Key, std::size_t> first_blob;           // position among `bytes` of the pair's first
  std::vector<std::int64_t> bytes;
  std::vector<std::size_t> of_step(steps.size());
  std::vector<std::size_t> to_prepare;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto buffers = images[steps[s].image].buffers();
    if (std::ranges::none_of(buffers, is_blob)) continue;
    Key key{steps[s].image, {}};
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].role == TEMPER_CONSTANT) key.second.push_back(steps[s].pointers[i]);
    }
    const auto [entry, is_new] = first_blob.try_emplace(std::move(key), bytes.size());
    of_step[s] = entry->second;
    if (!is_new) continue;
    to_prepare.push_back(s);
    for (const temper_buffer& buffer : buffers) {
      if (is_blob(buffer)) bytes.push_back(buffer.bytes);
    }
  }
  blobs = BufferGroup(bytes);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto buffers = images[steps[s].image].buffers();
    std::size_t next = of_step[s];
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (is_blob(buffers[i])) steps[s].pointers[i] = blobs[next++].data();
    }
  }
  for (const std::size_t s : to_prepare)
    run_phases(images[steps[s].image].prepare(), steps[s].pointers.data(), *pool, scratch.pointers());
}

void* Executor::Impl::stage(std::int32_t tensor) {
  AlignedBuffer& buffer = staging[at(tensor)];
  if (buffer.data() == nullptr) buffer = AlignedBuffer(plan->tensors[at(tensor)].bytes);
  return buffer.data();
}

Executor::Executor(std::shared_ptr<const Plan> plan, ExecutorOptions options) : impl_(std::make_unique<Impl>()) {
  if (options.threads < 1) {
    throw Error(ErrorCode::InvalidArgument, "cannot run on " + std::to_string(options.threads) + " threads", "threads",
                "use 1 or more");
  }
  impl_->plan = std::move(plan);
  impl_->options = std::move(options);
  impl_->load();
}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

const Plan& Executor::plan() const { return *impl_->plan; }
std::span<const double> Executor::step_seconds() const { return impl_->step_seconds; }

std::int64_t Executor::blob_bytes() const { return impl_->blobs.bytes(); }

void Executor::run(std::span<const void* const> inputs, std::span<void* const> outputs) {
  Impl& self = *impl_;
  const Plan& plan = *self.plan;
  if (inputs.size() != plan.inputs.size() || outputs.size() != plan.outputs.size()) {
    throw Error(ErrorCode::InvalidArgument, "the model has " + std::to_string(plan.inputs.size()) + " inputs and " +
                                                std::to_string(plan.outputs.size()) + " outputs, given were " +
                                                std::to_string(inputs.size()) + " and " +
                                                std::to_string(outputs.size()));
  }
  const auto size_of = [&](std::int32_t tensor) { return static_cast<std::size_t>(plan.tensors[at(tensor)].bytes); };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int32_t tensor = plan.inputs[i];
    self.outside[at(tensor)] = const_cast<void*>(inputs[i]);  // only read: `check_step` refuses steps that write to it
    if (!is_aligned(inputs[i])) {
      self.outside[at(tensor)] = self.stage(tensor);
      std::memcpy(self.outside[at(tensor)], inputs[i], size_of(tensor));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int32_t tensor = plan.outputs[i];
    self.outside[at(tensor)] = is_aligned(outputs[i]) ? outputs[i] : self.stage(tensor);
  }

  for (std::size_t i = 0; i < self.steps.size(); ++i) {
    LoadedStep& step = self.steps[i];
    for (const Late& late : step.late) {
      step.pointers[late.slot] = static_cast<std::byte*>(self.outside[at(late.tensor)]) + late.offset;
    }
    const double start = self.options.time_steps ? now_seconds() : 0;
    run_phases(self.images[step.image].run(), step.pointers.data(), *self.pool, self.scratch.pointers());
    if (self.options.time_steps) self.step_seconds[i] = now_seconds() - start;
  }

  for (const CopyOut& copy : self.copies) {
    const void* from = self.is_outside(copy.from.tensor)
                           ? static_cast<std::byte*>(self.outside[at(copy.from.tensor)]) + copy.from.offset
                           : self.inside(copy.from);
    gather(plan.tensors[at(plan.outputs[copy.output])], from, outputs[copy.output]);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int32_t tensor = plan.outputs[i];
    if (plan.tensors[at(tensor)].view_of == kNone && !is_aligned(outputs[i])) {
      std::memcpy(outputs[i], self.outside[at(tensor)], size_of(tensor));
    }
  }
}

namespace {

/// The pointers of `given` in the order of `numbers`.
template <class Pointer, class Span>
std::vector<Pointer> in_order(const Plan& plan, const std::vector<std::int32_t>& numbers,
                              const std::map<std::string, Span>& given, const std::string& role) {
  std::string names;
  for (const std::int32_t number : numbers) names += (names.empty() ? "" : ", ") + plan.tensors[at(number)].name;
  std::vector<Pointer> pointers;
  for (const std::int32_t number : numbers) {
    const PlanTensor& tensor = plan.tensors[at(number)];
    const auto found = given.find(tensor.name);
    if (found == given.end()) throw Error(ErrorCode::InvalidArgument, role + " '" + tensor.name + "' is missing");
    if (static_cast<std::int64_t>(found->second.size()) != tensor.bytes) {
      throw Error(ErrorCode::InvalidArgument, role + " '" + tensor.name + "' has " +
                                                  std::to_string(found->second.size()) + " bytes instead of " +
                                                  std::to_string(tensor.bytes));
    }
    pointers.push_back(found->second.data());
  }
  for (const auto& [name, span] : given) {
    const bool known = std::ranges::any_of(numbers, [&](std::int32_t n) { return plan.tensors[at(n)].name == name; });
    if (!known)
      throw Error(ErrorCode::InvalidArgument, "the model has no " + role + " '" + name + "'", {},
                  "its names: " + names);
  }
  return pointers;
}

}  // namespace

void Executor::run(const std::map<std::string, std::span<const std::byte>>& inputs,
                   const std::map<std::string, std::span<std::byte>>& outputs) {
  run(in_order<const void*>(plan(), plan().inputs, inputs, "input"),
      in_order<void*>(plan(), plan().outputs, outputs, "output"));
}

}  // namespace temper::runtime
