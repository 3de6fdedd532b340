// Another library on the same work, in a process of its own: a crash there is an error here, its environment is clean,
// and it sleeps while anything else is timed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/peers/work.h"

namespace temper::peers {

/// A peer that Temper knows.
struct PeerInfo {
  std::string_view name;     ///< as on the command line
  std::string_view title;    ///< as its makers write it
  std::string_view library;  ///< what is loaded; empty for ONNX Runtime and OpenVINO
  std::vector<std::string_view> ops;
  std::vector<std::string_view> epilogues;  ///< steps that it can fuse
  bool nhwc = false;                        ///< takes a convolution's activations in NHWC
};

/// onednn, openblas, onnxruntime, openvino.
std::span<const PeerInfo> known_peers();
/// Throws Error{InvalidArgument} that lists the names.
const PeerInfo& peer_info(std::string_view name);
/// Why the peer cannot take `work`; empty when it can. Needs no process. Throws Error{InvalidArgument} for malformed
/// work.
std::optional<std::string> refusal(const PeerInfo& peer, const PeerWork& work);

struct PeerOptions {
  int threads = 1;
  std::vector<int> cores;                   ///< where it may run; empty: the first `threads` cores of the caller
  double timeout_seconds = 300;             ///< for each request
  std::string library;                      ///< empty: the one of `PeerInfo`
  std::filesystem::path native_executable;  ///< temper-peer
  std::filesystem::path python;             ///< of the virtual environment that holds ONNX Runtime's wheel

  /// Looks beside the running program: temper-peer in its folder or in ../libexec/temper; the virtual environment at
  /// ../../venv (the build tree) or where TEMPER_PEERS_VENV says.
  static PeerOptions defaults();
};

class ChildProcess;

class Peer {
 public:
  /// Starts the process and loads the library. Throws Error{InvalidArgument} for an unknown name, Error{NotFound} when
  /// the library, wheel or program is not installed and Error{Version} when it is another version (the hint says how to
  /// get it), Error{Io} when the process does not answer.
  Peer(std::string_view name, PeerOptions options);
  ~Peer();
  Peer(Peer&&) noexcept;
  Peer& operator=(Peer&&) noexcept;

  std::string_view name() const { return info_->name; }
  const std::string& version() const { return version_; }
  bool supports(const PeerWork& work) const { return !refusal(*info_, work); }
  int process_id() const;

  /// Gives it `work` and its inputs (see `input_specs`; of a model: by name). Constants are packed, activations put
  /// into the peer's layout, and one untimed run is made. Throws Error{Unsupported} when it cannot,
  /// Error{InvalidArgument} for inputs that do not fit, Error{Io} when the process has died or does not answer: the
  /// message says how it ended.
  void prepare(const PeerWork& work, std::vector<Tensor> inputs);
  /// Seconds that `calls` calls took together, after `warmup` untimed ones, by the peer's own clock. Same errors.
  double run(std::int64_t calls, std::int64_t warmup = 1);
  /// Outputs of the last run in the work's plain layout. Same errors.
  std::vector<Tensor> outputs();

 private:
  const PeerInfo* info_;
  PeerOptions options_;
  std::unique_ptr<ChildProcess> child_;
  std::string version_;
};

}  // namespace temper::peers
