// A runner's side of the conversation: keeps the task, answers requests one after another until the channel ends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "temper/protocol/channel.h"
#include "temper/runner/check_run.h"
#include "temper/runner/fault_handler.h"
#include "temper/runner/surroundings.h"
#include "temper/runner/task_data.h"
#include "temper/runner/timing.h"
#include "temper/support/clock.h"

namespace temper::runner {

struct SessionOptions {
  std::int64_t memory_limit = 0;  ///< bytes a candidate may take; 0: no limit
  std::vector<int> cpus;          ///< where threads run: thread i on cpus[i]; threads beyond are not pinned
};

class Session {
 public:
  /// Borrows all of them. The calling thread is the one that runs kernels, and is pinned to the first CPU.
  Session(protocol::Channel& channel, FaultHandler& faults, const Clock& clock, Surroundings& surroundings,
          SessionOptions options);

  /// Returns when the other side closes the channel. Throws Error for a broken channel.
  void serve();

  protocol::SetTaskReply set_task(const protocol::SetTask& request);
  protocol::MeasureReply measure(const protocol::MeasureRequest& request);
  protocol::RaceReply race(const protocol::RaceRequest& request);

 private:
  /// A pool with the zones in which its threads' stacks end.
  struct Pool {
    std::unique_ptr<runtime::ThreadPool> threads;
    std::vector<FaultZone> stack_zones;
  };
  Pool& pool(int threads);
  Outcome check_task(std::uint64_t task) const;
  void measure(const protocol::MeasureRequest& request, double start, protocol::MeasureReply& reply);
  void race(const protocol::RaceRequest& request, double start, protocol::RaceReply& reply);
  /// Compares what the timed calls left in the outputs.
  Outcome check_after(const runtime::ArtifactImage& image, const TimedKernel& kernel, double& max_error) const;

  protocol::Channel* channel_;
  FaultHandler* faults_;
  const Clock* clock_;
  Watch watch_;
  SessionOptions options_;
  FaultZone own_stack_;
  TaskData task_;
  std::map<int, Pool> pools_;
};

}  // namespace temper::runner
