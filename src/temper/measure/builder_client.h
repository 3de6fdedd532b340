// The tuner's side of the builders: several processes that compile at once, and an answer for every request, whatever
// happens.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "temper/measure/worker.h"
#include "temper/protocol/messages.pb.h"
#include "temper/support/cancellation.h"

namespace temper::measure {

struct BuilderOptions {
  WorkerCommand command;  ///< `temper-builder`
  int count = 1;          ///< processes
  double start_limit_seconds = 30;
  double build_limit_seconds = 10;  ///< for one candidate
};

/// Not thread-safe. Builders stay alive between batches; one that dies or is killed is started again.
class BuilderClient {
 public:
  /// Starts the builders. Borrows the spawner. Throws as Subprocess::start.
  BuilderClient(Spawner& spawner, BuilderOptions options);

  /// One reply for each request, in their order; `done` is called as each one comes in. CompileTimeout after the limit;
  /// CompileError when the builder dies, with its last words; ids are set here. Cancelled: kills what is being built
  /// and returns; replies not made have id 0. Throws Error{Io}, Error{Busy} when no builder can be started.
  std::vector<protocol::BuildReply> build(
      std::vector<protocol::BuildRequest> requests, const CancellationToken& cancelled,
      const std::function<void(std::size_t index, const protocol::BuildReply&)>& done = {});

 private:
  struct Slot;
  struct Batch;
  void give_work(Slot& slot, Batch& batch);
  void collect(Slot& slot, Batch& batch);
  void abandon(Slot& slot, Batch& batch, record::FailureKind kind, const std::string& reason);
  void finish(Slot& slot, Batch& batch, protocol::BuildReply reply);

  struct Slot {
    std::optional<Worker> worker;
    std::optional<std::size_t> request;  ///< what it works on
    double since = 0;                    ///< when it began, on the steady clock
  };
  Spawner* spawner_;
  BuilderOptions options_;
  std::vector<Slot> slots_;
  std::uint64_t next_id_ = 1;
};

}  // namespace temper::measure
