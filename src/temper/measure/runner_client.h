// The tuner's side of a runner: one process that measures, one warm spare, and an answer for every request, whatever
// happens.
#pragma once

#include <cstdint>
#include <optional>

#include "temper/measure/runner_access.h"
#include "temper/measure/worker.h"
#include "temper/protocol/messages.pb.h"
#include "temper/support/cancellation.h"

namespace temper::measure {

struct RunnerOptions {
  WorkerCommand command;            ///< `temper-runner`
  double start_limit_seconds = 30;  ///< for a runner to say hello and to take a task
};

/// Not thread-safe. A runner is replaced by the spare after any failure but a compile error and unstable times:
/// whatever the candidate did to it is gone with it.
class RunnerClient final : public RunnerAccess {
 public:
  /// Starts the runner and its spare. Borrows the spawner. Throws as Subprocess::start.
  RunnerClient(Spawner& spawner, RunnerOptions options);

  /// Sent to runners when they need it.
  void set_task(protocol::SetTask task) override;

  /// At the request's time limit the runner is killed. Throw Error{Cancelled}; Error{Io}, Error{Busy} when no runner
  /// can be started, Error{InvalidArgument} when the task is refused.
  protocol::MeasureReply measure(const protocol::MeasureRequest& request, const CancellationToken& cancelled) override;
  protocol::RaceReply race(const protocol::RaceRequest& request, const CancellationToken& cancelled) override;
  bool locks() const override { return false; }

  /// Process number of the runner that takes the next request.
  pid_t pid() const { return current_->worker.pid(); }
  /// How many runners were replaced.
  int replacements() const { return replacements_; }

 private:
  struct Runner {
    Worker worker;
    bool has_task = false;
  };
  Runner& ready(const CancellationToken& cancelled);
  void replace();
  /// Sends, waits for the reply; nothing when the runner died or was killed: then `death` says why.
  std::optional<protocol::Envelope> exchange(Runner& runner, const protocol::Envelope& request, double limit_seconds,
                                             const CancellationToken& cancelled, Death& death);
  template <class Reply, class Request>
  Reply ask(const Request& request, const CancellationToken& cancelled);

  Spawner* spawner_;
  RunnerOptions options_;
  std::optional<Runner> current_, spare_;
  protocol::Envelope task_;
  int replacements_ = 0;
};

}  // namespace temper::measure
