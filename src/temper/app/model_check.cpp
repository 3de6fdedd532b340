#include "temper/app/model_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "temper/peers/onnx_writer.h"
#include "temper/support/error.h"

namespace temper::app {
namespace {

peers::PeerOptions peer_options(int threads) {
  peers::PeerOptions options = peers::PeerOptions::defaults();
  options.threads = threads;
  return options;
}

std::string read_model(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream && !stream.eof()) throw Error(ErrorCode::Io, "cannot read the model", path, "check its permissions");
  return bytes;
}

const peers::Tensor* find(const std::vector<peers::Tensor>& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return nlohmann::json(shape).dump(); }

}  // namespace

double ModelCheck::largest_output_error() const {
  double largest = 0;
  for (const OutputCheck& output : outputs) largest = std::max(largest, output.difference.error);
  return largest;
}

const StepCheck* ModelCheck::worst_step() const {
  const StepCheck* worst = nullptr;
  for (const StepCheck& step : steps) {
    if (!step.value.empty() && (worst == nullptr || step.error > worst->error)) worst = &step;
  }
  return worst;
}

std::size_t ModelCheck::compared_steps() const {
  return static_cast<std::size_t>(
      std::count_if(steps.begin(), steps.end(), [](const StepCheck& step) { return !step.value.empty(); }));
}

bool ModelCheck::equal() const {
  const StepCheck* worst = worst_step();
  return largest_output_error() <= kEqual && (worst == nullptr || worst->error <= kEqual);
}

ModelChecker::ModelChecker(peers::PeerWork model, int threads)
    : model_(std::move(model)), threads_(threads), peer_("onnxruntime", peer_options(threads)) {
  result_.version = peer_.version();
}

void ModelChecker::add_steps(const graph::Program& program, std::vector<graph::StepOutput> steps, runtime::Plan built) {
  stepped_.emplace(std::make_shared<const runtime::Plan>(std::move(built)), threads_);
  steps_ = std::move(steps);
  // What the model gives out anyway, and what it is given, need not be asked for.
  std::set<std::string> known;
  for (const std::string& name : program.graph.output_names) known.insert(name);
  for (const graph::ValueId id : program.graph.inputs) known.insert(program.graph.value(id).name);
  std::vector<std::string> wanted;
  for (const graph::StepOutput& output : steps_) {
    const graph::Step& step = program.steps[output.step];
    result_.steps.push_back(
        {step.name, program.tasks[static_cast<std::size_t>(step.task)].key.text(), output.source, output.sizes, 0});
    if (!output.source.empty() && known.insert(output.source).second) wanted.push_back(output.source);
  }
  instrumented_ = peers::with_outputs(model_.model.empty() ? read_model(model_.model_path) : model_.model, wanted);
}

void ModelChecker::check(const Inference& inference) {
  peer_.prepare(model_, inference.peer_inputs());
  peer_.run(1, 0);
  const std::vector<peers::Tensor> expected = peer_.outputs();
  const runtime::Plan& plan = inference.plan();
  result_.outputs.resize(plan.outputs.size());
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const runtime::PlanTensor& tensor = plan.tensors[static_cast<std::size_t>(plan.outputs[i])];
    const peers::Tensor* reference = find(expected, tensor.name);
    TEMPER_CHECK(reference != nullptr, "the reference has no output '" + tensor.name + "'");
    Difference difference = compare(inference.output(i), tensor.dtype, tensor.shape, {}, *reference);
    difference.error = std::max(difference.error, result_.outputs[i].difference.error);
    result_.outputs[i] = {tensor.name, difference};
  }
  if (stepped_) check_steps(inference);
  ++result_.samples;
}

void ModelChecker::check_steps(const Inference& inference) {
  std::vector<peers::Tensor> inputs = inference.peer_inputs();
  for (const peers::Tensor& input : inputs) stepped_->set_input(input.name, input.data);
  stepped_->run();
  peers::PeerWork work;
  work.op = "model";
  work.model = instrumented_;
  peer_.prepare(work, inputs);
  peer_.run(1, 0);
  std::vector<peers::Tensor> expected = peer_.outputs();
  std::move(inputs.begin(), inputs.end(), std::back_inserter(expected));
  const runtime::Plan& plan = stepped_->plan();
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const graph::StepOutput& step = steps_[s];
    if (step.source.empty()) continue;
    const peers::Tensor* reference = find(expected, step.source);
    TEMPER_CHECK(reference != nullptr, "the reference has no value '" + step.source + "'");
    const runtime::PlanTensor& tensor = plan.tensors[static_cast<std::size_t>(plan.outputs[step.output])];
    const double error = compare(stepped_->output(step.output), tensor.dtype, step.sizes, step.order, *reference).error;
    result_.steps[s].error = std::max(result_.steps[s].error, error);
  }
}

std::string text(const ModelCheck& check) {
  std::string out;
  const auto verdict = [](double error) { return error <= kEqual ? "equal" : "NOT equal, the limit is 1e-4"; };
  for (const StepCheck& step : check.steps) {
    const std::string name = fmt::format("  {:<24} {:<22} ", step.step, shape_text(step.shape));
    out += step.value.empty() ? name + "not compared: the model has no value like it\n"
                              : fmt::format("{}{:.2e}  {}{}\n", name, step.error, step.value,
                                            step.error <= kEqual ? "" : "  NOT equal");
  }
  if (const StepCheck* worst = check.worst_step()) {
    out += fmt::format(
        "largest difference of {} steps to ONNX Runtime {}: {:.2e} of the step's largest value, at {} ({})\n",
        check.compared_steps(), check.version, worst->error, worst->step, verdict(worst->error));
  }
  out += fmt::format("largest difference to ONNX Runtime {}: {:.2e} of the largest output ({})\n", check.version,
                     check.largest_output_error(), verdict(check.largest_output_error()));
  return out;
}

nlohmann::json to_json(const ModelCheck& check) {
  nlohmann::json outputs = nlohmann::json::array();
  for (const OutputCheck& output : check.outputs) {
    outputs.push_back({{"name", output.name},
                       {"max_error", error_json(output.difference.error)},
                       {"largest_at", output.difference.largest_at},
                       {"reference_largest_at", output.difference.reference_largest_at}});
  }
  nlohmann::json out{{"peer", "onnxruntime"},    {"version", check.version},
                     {"samples", check.samples}, {"max_error", error_json(check.largest_output_error())},
                     {"equal", check.equal()},   {"outputs", std::move(outputs)}};
  if (check.steps.empty()) return out;
  nlohmann::json steps = nlohmann::json::array();
  for (const StepCheck& step : check.steps) {
    nlohmann::json entry{{"step", step.step}, {"task", step.task}, {"shape", step.shape}};
    entry["value"] = step.value.empty() ? nlohmann::json(nullptr) : nlohmann::json(step.value);
    entry["max_error"] = step.value.empty() ? nlohmann::json(nullptr) : error_json(step.error);
    steps.push_back(std::move(entry));
  }
  out["steps"] = std::move(steps);
  out["compared_steps"] = check.compared_steps();
  const StepCheck* worst = check.worst_step();
  out["max_step_error"] = worst == nullptr ? nlohmann::json(nullptr) : error_json(worst->error);
  return out;
}

}  // namespace temper::app
