#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <filesystem>
#include <map>

#include "temper/app/inference.h"
#include "temper/app/options.h"
#include "temper/app/session.h"
#include "temper/peers/peer.h"
#include "temper/runtime/bundle.h"
#include "temper/runtime/npy.h"
#include "temper/support/error.h"

namespace temper::app {

namespace {

struct RunOptions {
  ModelOptions work;
  std::vector<std::string> inputs;
  std::string output_dir;
  std::string check;
  std::uint64_t seed = 0;
};

/// A file name for a tensor: letters, digits, '.', '_' and '-' stay, everything else becomes %XX.
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
  return out;
}

nlohmann::json run_model(Session& s, const RunOptions& o) {
  std::shared_ptr<const runtime::Plan> plan;
  const bool bundle = o.work.model.ends_with(".temper");
  if (bundle) {
    plan = runtime::load_bundle(o.work.model);
  } else {
    const graph::Program program = load_program(o.work);
    const Records records(o.work.db, s.cancellation);
    if (!records.note().empty()) s.progress(records.note());
    BuiltModel built = build_model(program, target::detect(), o.work.threads, records);
    plan = std::make_shared<const runtime::Plan>(std::move(built.plan));
  }
  Inference inference(plan, o.work.threads);
  if (o.inputs.empty()) inference.fill_random(o.seed);
  std::map<std::string, bool> given;
  for (const std::string& text : o.inputs) {
    const std::size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0)
      throw Error(ErrorCode::InvalidArgument, "'" + text + "' is not NAME=FILE.npy", "--input", "--input x=image.npy");
    const std::string name = text.substr(0, at);
    const runtime::NpyArray array = runtime::read_npy(text.substr(at + 1));
    for (std::int32_t t : plan->inputs) {
      const runtime::PlanTensor& tensor = plan->tensors[static_cast<std::size_t>(t)];
      if (tensor.name == name && (tensor.dtype != array.dtype || tensor.shape != array.shape)) {
        const auto shape_text = [](const std::vector<std::int64_t>& shape) {
          std::string out;
          for (std::int64_t d : shape) out += (out.empty() ? "" : ",") + std::to_string(d);
          return "[" + out + "]";
        };
        throw Error(ErrorCode::InvalidArgument,
                    fmt::format("input '{}' is {}{}, the file holds {}{}", name, runtime::dtype_name(tensor.dtype),
                                shape_text(tensor.shape), runtime::dtype_name(array.dtype), shape_text(array.shape)),
                    text.substr(at + 1), "convert the array, or fix the shape with --shape when building");
      }
    }
    inference.set_input(name, array.data);
    given[name] = true;
  }
  if (!o.inputs.empty()) {
    for (std::int32_t t : plan->inputs) {
      const std::string& name = plan->tensors[static_cast<std::size_t>(t)].name;
      if (!given.contains(name))
        throw Error(ErrorCode::InvalidArgument, "input '" + name + "' is missing", "--input",
                    "--input " + name + "=FILE.npy");
    }
  }
  inference.run();

  nlohmann::json outputs = nlohmann::json::array();
  for (std::size_t i = 0; i < plan->outputs.size(); ++i) {
    const runtime::PlanTensor& tensor = plan->tensors[static_cast<std::size_t>(plan->outputs[i])];
    nlohmann::json entry{{"name", tensor.name}, {"dtype", runtime::dtype_name(tensor.dtype)}, {"shape", tensor.shape}};
    if (!o.output_dir.empty()) {
      std::error_code code;
      std::filesystem::create_directories(o.output_dir, code);
      if (code)
        throw Error(ErrorCode::Io, "the folder cannot be made: " + code.message(), o.output_dir,
                    "check the path and its permissions");
      const std::filesystem::path file = std::filesystem::path(o.output_dir) / (file_name(tensor.name) + ".npy");
      runtime::write_npy(file, tensor.dtype, tensor.shape, inference.output(i));
      entry["file"] = file.string();
      s.print(fmt::format("{} -> {}\n", tensor.name, file.string()));
    } else {
      s.print(fmt::format("{} {}{}\n", tensor.name, runtime::dtype_name(tensor.dtype),
                          nlohmann::json(tensor.shape).dump()));
    }
    outputs.push_back(std::move(entry));
  }
  nlohmann::json result{{"outputs", outputs}};
  if (!o.check.empty()) {
    if (o.check != "onnxruntime")
      throw Error(ErrorCode::InvalidArgument, "there is no check against '" + o.check + "'", "--check",
                  "use onnxruntime");
    if (bundle)
      throw Error(ErrorCode::InvalidArgument, "a bundle holds no ONNX model to check against", "--check",
                  "run the .onnx file");
    peers::PeerOptions options = peers::PeerOptions::defaults();
    options.threads = o.work.threads;
    peers::Peer peer("onnxruntime", options);
    peers::PeerWork work;
    work.op = "model";
    work.model_path = o.work.model;
    peer.prepare(work, inference.peer_inputs());
    peer.run(1, 0);
    const double difference = largest_difference(inference, peer.outputs());
    const bool equal = difference <= 1e-4;
    s.print(fmt::format("largest difference to ONNX Runtime {}: {:.2e} of the largest output ({})\n", peer.version(),
                        difference, equal ? "equal" : "NOT equal, the limit is 1e-4"));
    result["check"] = {
        {"peer", "onnxruntime"}, {"version", peer.version()}, {"max_error", difference}, {"equal", equal}};
    if (!equal) s.exit_code = 1;
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
  command.add_option("--seed", o->seed, "Seed of random inputs")->capture_default_str();
  command.callback([&session, o] { session.action = [o](Session& s) { return run_model(s, *o); }; });
}

}  // namespace temper::app
