#include "temper/peers/peer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "temper/peers/child_process.h"
#include "temper/peers/onnx_work.h"
#include "temper/peers/python_script.h"
#include "temper/support/error.h"

namespace temper::peers {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOnnxRuntime = "onnxruntime";
constexpr std::string_view kOpenVino = "openvino";

/// Peers that run ONNX files, by the version that is pinned; empty for the others.
std::string_view python_version(std::string_view name) {
  if (name == kOnnxRuntime) return "1.32.0";
  if (name == kOpenVino) return "2026.4.1";
  return {};
}

ErrorCode parse_code(const std::string& text) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::Internal); ++code) {
    if (to_string(static_cast<ErrorCode>(code)) == text) return static_cast<ErrorCode>(code);
  }
  return ErrorCode::Internal;
}

/// One request and its answer. Any trouble of the process becomes one error that says how it ended.
Message ask(ChildProcess& child, const PeerInfo& info, const Message& request, double timeout_seconds) {
  Message reply;
  try {
    child.channel().send(request, timeout_seconds);
    reply = child.channel().receive(timeout_seconds);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Io && error.code() != ErrorCode::Corrupt) throw;
    throw Error(ErrorCode::Io, error.message() + " (" + child.end_and_describe() + ")", std::string(info.title),
                "leave this peer out, or report it if it happens again");
  }
  const auto failed = reply.header.find("error");
  if (failed == reply.header.end()) return reply;
  const auto part = [&](const char* name) { return failed->value(name, std::string()); };
  throw Error(parse_code(part("code")), part("message"),
              std::string(info.title) + (part("where").empty() ? "" : ": ") + part("where"), part("hint"));
}

/// What is not to leak from the tuner's environment into a fair measurement.
std::vector<std::string> dropped_prefixes() {
  return {"OPENBLAS_", "GOTO_",  "OMP_", "GOMP_",  "KMP_",       "DNNL_",   "ONEDNN_",
          "MKL_",      "MKLDNN", "ORT_", "PYTHON", "LD_PRELOAD", "MALLOC_", "GLIBC_TUNABLES"};
}

ChildCommand command_for(const PeerInfo& info, const PeerOptions& options) {
  const std::string threads = std::to_string(options.threads);
  ChildCommand command;
  command.cores = options.cores;
  command.dropped_prefixes = dropped_prefixes();
  command.environment = {{"OMP_NUM_THREADS", threads}, {"OPENBLAS_NUM_THREADS", threads}};
  if (const std::string version(python_version(info.name)); !version.empty()) {
    std::error_code ignored;
    if (!fs::exists(options.python, ignored)) {
      throw Error(ErrorCode::NotFound, std::string(info.title) + " " + version + " is not installed",
                  options.python.string(),
                  "run scripts/fetch_peers.sh, or set TEMPER_PEERS_VENV to a virtual environment that holds it");
    }
    command.executable = options.python;
    command.arguments = {"-I", "-c", kPythonScript, std::string(info.name), threads, version};
  } else {
    command.executable = options.native_executable;
    command.arguments = {std::string(info.name), options.library.empty() ? std::string(info.library) : options.library,
                         threads};
  }
  return command;
}

bool contains(const std::vector<std::string_view>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

}  // namespace

std::span<const PeerInfo> known_peers() {
  static const std::array<PeerInfo, 4> table{{
      {"onednn",
       "oneDNN",
       "libdnnl.so.2",
       {"matmul", "conv2d", "conv_transpose2d", "softmax", "layernorm"},
       {"bias", "relu", "hardswish", "sigmoid", "tanh", "add"},
       true},
      {"openblas", "OpenBLAS", "libopenblas.so.0", {"matmul", "conv2d"}, {}, false},
      {kOnnxRuntime,
       "ONNX Runtime",
       "",
       {"matmul", "conv2d", "conv_transpose2d", "softmax", "layernorm", "attention", "model"},
       {"bias", "relu", "hardswish", "sigmoid", "tanh", "add"},
       false},
      {kOpenVino,
       "OpenVINO",
       "",
       {"matmul", "conv2d", "conv_transpose2d", "softmax", "layernorm", "attention", "model"},
       {"bias", "relu", "hardswish", "sigmoid", "tanh", "add"},
       false},
  }};
  return table;
}

const PeerInfo& peer_info(std::string_view name) {
  std::string names;
  for (const PeerInfo& info : known_peers()) {
    if (info.name == name) return info;
    names.append(names.empty() ? "" : ", ").append(info.name);
  }
  throw Error(ErrorCode::InvalidArgument, "Unknown peer '" + std::string(name) + "'", "peer", "one of: " + names);
}

std::optional<std::string> refusal(const PeerInfo& peer, const PeerWork& work) {
  input_specs(work);  // refuses malformed work
  const std::string title(peer.title);
  if (!contains(peer.ops, work.op)) return title + " has no " + work.op;
  if (is_convolution(work) && work.layout == Layout::Nhwc && !peer.nhwc) return title + " takes no NHWC convolution";
  for (const std::string& step : work.epilogue) {
    if (!contains(peer.epilogues, step)) return std::string(title).append(" cannot fuse ").append(step);
  }
  const bool rows = work.op == "softmax" || work.op == "layernorm";
  if (peer.name == "onednn" && rows && !work.epilogue.empty()) return title + " fuses nothing into " + work.op;
  return std::nullopt;
}

PeerOptions PeerOptions::defaults() {
  PeerOptions options;
  std::error_code failed;
  const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  options.native_executable = folder / "temper-peer";
  const fs::path installed = folder.parent_path() / "libexec" / "temper" / "temper-peer";
  if (!fs::exists(options.native_executable, failed) && fs::exists(installed, failed))
    options.native_executable = installed;
  const char* venv = std::getenv("TEMPER_PEERS_VENV");
  options.python = (venv != nullptr ? fs::path(venv) : folder.parent_path().parent_path() / "venv") / "bin" / "python3";
  return options;
}

Peer::Peer(std::string_view name, PeerOptions options) : info_(&peer_info(name)), options_(std::move(options)) {
  if (options_.cores.empty()) options_.cores = first_cores(options_.threads);
  child_ = std::make_unique<ChildProcess>(command_for(*info_, options_));
  const Message reply = ask(*child_, *info_, {{{"type", "hello"}}, {}}, options_.timeout_seconds);
  version_ = reply.header.value("version", std::string());
}

Peer::~Peer() = default;
Peer::Peer(Peer&&) noexcept = default;
Peer& Peer::operator=(Peer&&) noexcept = default;

int Peer::process_id() const { return child_->pid(); }

void Peer::prepare(const PeerWork& work, std::vector<Tensor> inputs) {
  check_inputs(work, inputs);
  if (const auto reason = refusal(*info_, work)) throw Error(ErrorCode::Unsupported, *reason, work.op);
  Message request{{{"type", "prepare"}, {"work", to_json(work)}}, std::move(inputs)};
  if (!python_version(info_->name).empty()) request = onnx_request(work, std::move(request.tensors));
  ask(*child_, *info_, request, options_.timeout_seconds);
  run(0, 1);
}

double Peer::run(std::int64_t calls, std::int64_t warmup) {
  const Message reply =
      ask(*child_, *info_, {{{"type", "run"}, {"calls", calls}, {"warmup", warmup}}, {}}, options_.timeout_seconds);
  constexpr double kNano = 1e-9;
  return kNano * reply.header.value("nanoseconds", 0.0);
}

std::vector<Tensor> Peer::outputs() {
  return ask(*child_, *info_, {{{"type", "outputs"}}, {}}, options_.timeout_seconds).tensors;
}

}  // namespace temper::peers
