#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>

#include "temper/app/inference.h"
#include "temper/app/model_check.h"
#include "temper/app/options.h"
#include "temper/app/session.h"
#include "temper/graph/step_outputs.h"
#include "temper/runtime/bundle.h"
#include "temper/runtime/npy.h"
#include "temper/support/error.h"
#include "temper/support/hash.h"
#include "temper/support/output_file.h"

namespace temper::app {

namespace {

struct RunOptions {
  ModelOptions work;
  std::vector<std::string> inputs;
  std::string output_dir;
  std::string check;
  bool every_step = false;
  int samples = 1;
  std::uint64_t seed = 0;
};

/// A file name for a tensor: letters, digits, '.', '_' and '-' stay, everything else becomes %XX, and of a long one
/// the end becomes a hash.
std::string file_name(const std::string& tensor) {
  std::string out;
  for (const char c : tensor) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '.' || c == '_' || c == '-') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  // File systems take names of 255 bytes at most.
  constexpr std::size_t kLongest = 200;
  return out.size() <= kLongest ? out : out.substr(0, kLongest - 17) + "-" + to_hex(hash_text(tensor));
}

/// By its first bytes; by its name for the messages about a damaged one.
bool is_bundle(const RunOptions& o) { return runtime::is_bundle(o.work.model) || o.work.model.ends_with(".temper"); }

/// What cannot go together is refused before anything is built.
void check_options(const RunOptions& o) {
  if (!o.check.empty() && o.check != "onnxruntime")
    throw Error(ErrorCode::InvalidArgument, "there is no check against '" + o.check + "'", "--check",
                "use onnxruntime");
  if (!o.work.constants.empty() && is_bundle(o))
    throw Error(ErrorCode::InvalidArgument, "a bundle's constants are in it already", "--constant",
                "give them to temper build");
  if (!o.check.empty() && is_bundle(o))
    throw Error(ErrorCode::InvalidArgument, "a bundle holds no ONNX model to check against", "--check",
                "run the .onnx file");
  if (o.check.empty() && (o.every_step || o.samples != 1))
    throw Error(ErrorCode::InvalidArgument, o.every_step ? "nothing to compare the steps with" : "nothing to check",
                o.every_step ? "--every-step" : "--samples", "add --check onnxruntime");
  if (!o.inputs.empty() && o.samples != 1)
    throw Error(ErrorCode::InvalidArgument, "samples are random inputs, and --input gives one", "--samples",
                "leave out one of the two");
}

/// Name and file of NAME=FILE.npy. Both may hold a '=': the name is the one that an input has, else the shortest.
std::pair<std::string, std::string> input_of(const std::string& text, const runtime::Plan& plan) {
  std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0)
    throw Error(ErrorCode::InvalidArgument, "'" + text + "' is not NAME=FILE.npy", "--input", "--input x=image.npy");
  for (std::size_t next = at; next != std::string::npos; next = text.find('=', next + 1)) {
    const bool known = std::ranges::any_of(plan.inputs, [&](std::int32_t t) {
      return plan.tensors[static_cast<std::size_t>(t)].name == std::string_view(text).substr(0, next);
    });
    if (known) at = next;
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

/// Puts the files of --input into the model's inputs.
void set_inputs(const RunOptions& o, Inference& inference) {
  const runtime::Plan& plan = inference.plan();
  std::map<std::string, bool> given;
  for (const std::string& text : o.inputs) {
    const auto [name, path] = input_of(text, plan);
    if (given.contains(name))
      throw Error(ErrorCode::InvalidArgument, "input '" + name + "' is given twice", "--input",
                  "leave out one of them");
    const runtime::NpyArray array = runtime::read_npy(path);
    for (std::int32_t t : plan.inputs) {
      const runtime::PlanTensor& tensor = plan.tensors[static_cast<std::size_t>(t)];
      if (tensor.name == name && (tensor.dtype != array.dtype || tensor.shape != array.shape)) {
        const auto shape_text = [](const std::vector<std::int64_t>& shape) {
          std::string out;
          for (std::int64_t d : shape) out += (out.empty() ? "" : ",") + std::to_string(d);
          return "[" + out + "]";
        };
        throw Error(ErrorCode::InvalidArgument,
                    fmt::format("input '{}' is {}{}, the file holds {}{}", name, runtime::dtype_name(tensor.dtype),
                                shape_text(tensor.shape), runtime::dtype_name(array.dtype), shape_text(array.shape)),
                    path, "convert the array, or fix the shape with --shape when building");
      }
    }
    inference.set_input(name, array.data);
    given[name] = true;
  }
  for (std::int32_t t : plan.inputs) {
    const std::string& name = plan.tensors[static_cast<std::size_t>(t)].name;
    if (!given.contains(name))
      throw Error(ErrorCode::InvalidArgument, "input '" + name + "' is missing", "--input",
                  "--input " + name + "=FILE.npy");
  }
}

/// Names and shapes of the outputs; with --output-dir also their files.
nlohmann::json show_outputs(Session& s, const RunOptions& o, const Inference& inference) {
  const runtime::Plan& plan = inference.plan();
  nlohmann::json outputs = nlohmann::json::array();
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const runtime::PlanTensor& tensor = plan.tensors[static_cast<std::size_t>(plan.outputs[i])];
    nlohmann::json entry{{"name", tensor.name}, {"dtype", runtime::dtype_name(tensor.dtype)}, {"shape", tensor.shape}};
    if (!o.output_dir.empty()) {
      std::error_code code;
      std::filesystem::create_directories(o.output_dir, code);
      if (code)
        throw Error(ErrorCode::Io, "the folder cannot be made: " + code.message(), o.output_dir,
                    "check the path and its permissions");
      const std::filesystem::path file = std::filesystem::path(o.output_dir) / (file_name(tensor.name) + ".npy");
      for (const std::string& input : o.inputs) refuse_overwriting(input_of(input, plan).second, file);
      runtime::write_npy(file, tensor.dtype, tensor.shape, inference.output(i));
      entry["file"] = file.string();
      s.print(fmt::format("{} -> {}\n", tensor.name, file.string()));
    } else {
      s.print(fmt::format("{} {}{}\n", tensor.name, runtime::dtype_name(tensor.dtype),
                          nlohmann::json(tensor.shape).dump()));
    }
    outputs.push_back(std::move(entry));
  }
  return outputs;
}

/// The kernels of a program, each task's made once however often it is built.
class Kernels {
 public:
  Kernels(const RunOptions& o, const Records& records) : options_(o), records_(records), target_(target::detect()) {}

  runtime::Plan build(const graph::Program& program) {
    return build_model(program, target_, options_.work.threads,
                       [&](const tune::Task& task) {
                         const auto known = built_.find(task.key.text());
                         if (known != built_.end()) return known->second;
                         return built_[task.key.text()] = records_.artifact(task, target_);
                       })
        .plan;
  }

 private:
  const RunOptions& options_;
  const Records& records_;
  target::Target target_;
  std::map<std::string, tune::Built> built_;
};

nlohmann::json run_model(Session& s, const RunOptions& o) {
  check_options(o);
  std::shared_ptr<const runtime::Plan> plan;
  std::optional<ModelChecker> checker;
  if (is_bundle(o)) {
    require_model(o.work.model);
    plan = runtime::load_bundle(o.work.model);
  } else {
    const Model model = load_model(o.work);
    const Records records(o.work.db, o.work.max_error, s.cancellation);
    graph::Program program = model.program(model.layouts.best_known(records.store(), target::detect()));
    if (!records.note().empty()) s.progress(records.note());
    Kernels kernels(o, records);
    plan = std::make_shared<const runtime::Plan>(kernels.build(program));
    if (!o.check.empty()) checker.emplace(peer_work(o.work), o.work.threads);
    if (o.every_step) {
      std::vector<graph::StepOutput> steps = graph::expose_steps(program);
      runtime::Plan exposed = kernels.build(program);
      checker->add_steps(program, std::move(steps), std::move(exposed));
    }
  }
  Inference inference(plan, o.work.threads);
  nlohmann::json result;
  for (int sample = 0; sample < o.samples; ++sample) {
    s.cancellation.throw_if_requested();
    if (o.inputs.empty()) {
      inference.fill_random(o.seed + static_cast<std::uint64_t>(sample));
    } else {
      set_inputs(o, inference);
    }
    inference.run();
    if (sample == 0) result["outputs"] = show_outputs(s, o, inference);
    if (checker) checker->check(inference);
  }
  if (checker) {
    s.print(text(checker->result()));
    result["check"] = to_json(checker->result());
    if (!checker->result().equal()) s.exit_code = 1;
  }
  return result;
}

}  // namespace

void declare_run(CLI::App& command, Session& session) {
  auto o = std::make_shared<RunOptions>();
  declare_work(command, o->work, false);
  command.get_option("MODEL")->required();
  command.add_option("--input", o->inputs, "An input: NAME=FILE.npy; without any, all are random")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--output-dir", o->output_dir, "Where to write the outputs, one .npy each");
  command.add_option("--check", o->check, "Compare the outputs with another library: onnxruntime");
  command.add_flag("--every-step", o->every_step,
                   "With --check: also compare what every step computes, and list the steps");
  command.add_option("--samples", o->samples, "With --check: on how many random inputs, of seeds SEED, SEED + 1, ...")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  declare_seed(command, o->seed, "Seed of random inputs");
  command.callback([&command, &session, o] {
    if (is_bundle(*o)) refuse_given(command, {"--shape", "--db", "--layouts"}, "is for models: a bundle is complete");
    if (!o->inputs.empty()) refuse_given(command, {"--seed"}, "is for random inputs");
    session.action = [o](Session& s) { return run_model(s, *o); };
  });
}

}  // namespace temper::app
