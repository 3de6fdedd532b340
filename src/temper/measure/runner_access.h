// What a measurer needs of whatever times for it: processes of this machine, or a runner on another one.
#pragma once

#include "temper/protocol/messages.pb.h"
#include "temper/support/cancellation.h"

namespace temper::measure {

class RunnerAccess {
 public:
  virtual ~RunnerAccess() = default;

  /// The task of the requests to come.
  virtual void set_task(protocol::SetTask task) = 0;

  /// Always gives a reply, which is about the candidate alone, and ends by itself at the request's time limit (which
  /// must be above 0). Throws Error{Cancelled}; other Errors when nothing can be timed, whatever the candidate.
  virtual protocol::MeasureReply measure(const protocol::MeasureRequest& request,
                                         const CancellationToken& cancelled) = 0;
  virtual protocol::RaceReply race(const protocol::RaceRequest& request, const CancellationToken& cancelled) = 0;

  /// Whether it sees to it that nobody else times on the machine meanwhile; otherwise the caller has to.
  virtual bool locks() const = 0;
};

}  // namespace temper::measure
