// A worker process, seen from the process that owns it: its channel, its life, and what its death meant.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "temper/protocol/channel.h"
#include "temper/protocol/worker.h"
#include "temper/record/record.h"
#include "temper/support/subprocess.h"

namespace temper::measure {

struct WorkerCommand {
  std::filesystem::path executable;
  std::int64_t memory_limit = 0;  ///< bytes; 0: no limit
  std::vector<int> cpus;          ///< runners only
};

/// How a worker died, as a failure of what it was working on.
struct Death {
  record::FailureKind kind = record::FailureKind::Crash;
  std::string reason;
};

class Worker {
 public:
  /// Starts the process and does not wait for it. Throws as Subprocess::start.
  static Worker start(Spawner& spawner, const WorkerCommand& command);

  protocol::Channel& channel() { return channel_; }
  pid_t pid() const { return process_.pid(); }
  bool greeted() const { return greeted_; }

  /// Waits until the worker has said hello; returns at once after the first time. Throws Error{Io} with what it left on
  /// its standard error when it dies instead, Error{Busy} when it stays silent for `seconds`, Error{Version}.
  void greet(double seconds);

  /// For a worker whose channel has closed: waits for its end and says what it means.
  ///   a word on the fault page → what it says     killed by SIGKILL, and not by us → ResourceLimit (the system had no
  ///   memory) another signal → Crash                      ended by itself → Crash
  Death bury();
  /// Kills it.
  void kill() { process_.kill(); }
  /// The last lines of its standard error, on one line, at most some hundred characters.
  std::string last_words() const;

 private:
  Worker(Subprocess process, protocol::Channel channel, protocol::SharedFaultPage fault, UniqueFd errors);
  Subprocess process_;
  protocol::Channel channel_;
  protocol::SharedFaultPage fault_;
  UniqueFd errors_;  // an in-memory file
  bool greeted_ = false;
};

/// One of Temper's programs: beside the running one, else in a folder of PATH. Throws Error{NotFound} that says where
/// it was looked for first.
std::filesystem::path find_program(const std::string& name);

}  // namespace temper::measure
