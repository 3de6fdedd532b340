#include "temper/graph/plan_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "temper/runtime/artifact_image.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

using runtime::PlanTensor;
using runtime::TensorKind;

/// A buffer of an artifact, as the plan needs it.
struct Buffer {
  std::string name;
  int role;
  std::int64_t bytes;
};

class PlanBuilder {
 public:
  PlanBuilder(const Program& program, const ArtifactOf& artifact_of)
      : program_(program), artifact_of_(artifact_of), tensors_(program.graph.values.size(), runtime::kNone) {
    for (const Step& step : program.steps) computed_.insert(step.outputs.begin(), step.outputs.end());
    for (const Part& part : program.parts) {
      if (part.computed) computed_.insert(storage_of(program, part.whole));
    }
  }

  runtime::Plan run(const PlanOptions& options) {
    plan_.cpu_features = options.cpu_features;
    plan_.metadata = options.metadata;
    for (const ValueId id : program_.graph.inputs) {
      plan_.inputs.push_back(add(id, TensorKind::Input, program_.graph.value(id).name));
    }
    // Outputs that steps write come first: what lies inside of one of them is bound there.
    plan_.outputs.resize(program_.graph.outputs.size(), runtime::kNone);
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) add_written_output(i);
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) add_copied_output(i);
    load_artifacts();
    for (const Step& step : program_.steps) add_step(step);
    runtime::plan_memory(plan_);
    runtime::validate(plan_);
    return std::move(plan_);
  }

 private:
  PlanTensor describe(ValueId id, TensorKind kind, std::string name) const {
    PlanTensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = static_cast<temper_dtype>(program_.graph.value(id).dtype);
    tensor.shape = program_.graph.sizes(id);
    tensor.strides = program_.graph.value(id).strides;
    tensor.kind = kind;
    // The caller's memory has no gaps.
    tensor.bytes = kind == TensorKind::Output ? element_count(tensor.shape) * runtime::element_bytes(tensor.dtype)
                                              : runtime::span_bytes(tensor);
    return tensor;
  }

  std::int32_t add(ValueId id, TensorKind kind, std::string name) {
    PlanTensor tensor = describe(id, kind, std::move(name));
    if (kind == TensorKind::Constant) {
      tensor.constant = plan_.add_constant(runtime::Bytes::copy_of(std::span(*program_.graph.value(id).data->bytes)));
    }
    plan_.tensors.push_back(std::move(tensor));
    return tensors_[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(plan_.tensors.size()) - 1;
  }

  /// The tensor behind a value, views followed; a part views its whole.
  std::int32_t tensor_of(ValueId id) {
    const ValueId storage = storage_of(program_, id);
    const std::int32_t known = tensors_[static_cast<std::size_t>(storage)];
    if (known != runtime::kNone) return known;
    const Value& value = program_.graph.value(storage);
    if (const Part* part = part_of(program_, storage)) {
      const std::int32_t whole = tensor_of(part->whole);
      const std::int32_t tensor = add(storage, TensorKind::Intermediate, value.name);
      plan_.tensors.back().view_of = whole;
      plan_.tensors.back().view_offset = part->offset * ir::bytes(value.dtype);
      return tensor;
    }
    TEMPER_CHECK(value.is_constant() || computed_.contains(storage), "'" + value.name + "' has no source");
    return add(storage, value.is_constant() ? TensorKind::Constant : TensorKind::Intermediate, value.name);
  }

  void add_written_output(std::size_t i) {
    const ValueId id = program_.graph.outputs[i];
    const ValueId storage = storage_of(program_, id);
    const bool is_free = tensors_[static_cast<std::size_t>(storage)] == runtime::kNone;
    if (!computed_.contains(storage) || !is_free || part_of(program_, storage) != nullptr) return;
    plan_.outputs[i] = add(storage, TensorKind::Output, program_.graph.output_names[i]);
    // The step sees the bytes, the caller the shape of the view.
    plan_.tensors.back().shape = program_.graph.sizes(id);
  }

  void add_copied_output(std::size_t i) {
    if (plan_.outputs[i] != runtime::kNone) return;
    const ValueId id = program_.graph.outputs[i];
    const std::int32_t source = tensor_of(id);
    PlanTensor output = describe(id, TensorKind::Output, program_.graph.output_names[i]);
    output.view_of = source;
    plan_.tensors.push_back(std::move(output));
    plan_.outputs[i] = static_cast<std::int32_t>(plan_.tensors.size()) - 1;
  }

  void load_artifacts() {
    for (const Task& task : program_.tasks) {
      runtime::Bytes bytes = artifact_of_(task);
      const auto image = runtime::ArtifactImage::load(bytes.span());
      std::vector<Buffer> buffers;
      for (const temper_buffer& buffer : image.buffers()) buffers.push_back({buffer.name, buffer.role, buffer.bytes});
      buffers_.push_back(std::move(buffers));
      artifacts_.push_back(plan_.add_artifact(std::move(bytes)));
    }
  }

  void add_step(const Step& step) {
    const auto number = static_cast<std::size_t>(step.task);
    const Task& task = program_.tasks[number];
    std::map<std::string, ValueId> values;
    for (std::size_t i = 0; i < step.operands.size(); ++i) values[task.operands[i]] = step.operands[i];
    for (std::size_t i = 0; i < step.outputs.size(); ++i) values[task.work.compute.outputs[i]->name] = step.outputs[i];
    runtime::Step planned;
    planned.name = step.name;
    planned.artifact = artifacts_[number];
    for (const Buffer& buffer : buffers_[number]) {
      runtime::Binding binding;
      if (buffer.role != TEMPER_BLOB && buffer.role != TEMPER_WORKSPACE) {
        const auto value = values.find(buffer.name);
        TEMPER_CHECK(value != values.end(),
                     "the artifact of " + task.key.text() + " has an unknown buffer '" + buffer.name + "'");
        binding.tensor = tensor_of(value->second);
        TEMPER_CHECK(buffer.bytes <= plan_.tensors[static_cast<std::size_t>(binding.tensor)].bytes,
                     "buffer '" + buffer.name + "' of " + task.key.text() + " is larger than its tensor");
      }
      planned.buffers.push_back(binding);
    }
    plan_.steps.push_back(std::move(planned));
  }

  const Program& program_;
  const ArtifactOf& artifact_of_;
  runtime::Plan plan_;
  std::vector<std::int32_t> tensors_;  ///< plan tensor of each graph value
  std::set<ValueId> computed_;         ///< values that a step writes, or several in parts
  std::vector<std::int32_t> artifacts_;
  std::vector<std::vector<Buffer>> buffers_;
};

}  // namespace

runtime::Plan build_plan(const Program& program, const ArtifactOf& artifact_of, const PlanOptions& options) {
  return PlanBuilder(program, artifact_of).run(options);
}

}  // namespace temper::graph
