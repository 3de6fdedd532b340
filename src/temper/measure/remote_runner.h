// The tuner's side of a runner on another machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "temper/measure/runner_access.h"
#include "temper/protocol/endpoint.h"
#include "temper/protocol/link.h"

namespace temper::measure {

struct RemoteRunnerOptions {
  protocol::Endpoint endpoint;
  std::string token;  ///< empty: none
  int threads = 1;    ///< most that a request asks for
  double connect_seconds = 10, handshake_seconds = 10;
  double reconnect_seconds = 60;  ///< a lost connection is tried again for so long
  double answer_seconds = 60;     ///< beyond a request's time limit, for a runner that lives and does not answer
  protocol::LinkOptions link;
  /// Told in a line that the connection is lost, and that it is there again.
  std::function<void(const std::string&)> report;
};

/// Not thread-safe. A connection that is lost is opened again and the request that was under way is made again: what
/// happens to a connection is no fault of the candidate. Neither is anything measured twice for it: only a reply that
/// arrived counts.
class RemoteRunner final : public RunnerAccess {
 public:
  /// Connects. Throws Error{Io} when nobody is there, Error{Busy} when there is no answer, or the runner serves another
  /// tuner (which it names), Error{InvalidArgument} for a wrong token, Error{Version} that names both versions of the
  /// protocol, or of artifacts, when they have none in common.
  explicit RemoteRunner(RemoteRunnerOptions options);
  ~RemoteRunner() override;

  /// target::serialise of the runner's machine.
  const std::string& target() const { return target_; }
  /// That threads may use there.
  int cpus() const { return cpus_; }
  /// How often a lost connection was opened again.
  int reconnections() const { return reconnections_; }

  void set_task(protocol::SetTask task) override;
  /// Throw Error{Io} or Error{Busy} when a lost connection stays lost, or is lost over and over at the same request,
  /// Error{Unsupported} when another machine answers then; Error{InvalidArgument} when the task is refused.
  protocol::MeasureReply measure(const protocol::MeasureRequest& request, const CancellationToken& cancelled) override;
  protocol::RaceReply race(const protocol::RaceRequest& request, const CancellationToken& cancelled) override;
  bool locks() const override { return true; }

 private:
  void connect();
  protocol::Link& connected(const CancellationToken& cancelled);
  /// Nothing when the connection was lost.
  std::optional<protocol::Envelope> exchange(protocol::Link& link, const protocol::Envelope& request,
                                             double limit_seconds, const CancellationToken& cancelled);
  /// Whether the runner has the task now; false when the connection was lost.
  bool give_task(protocol::Link& link, const CancellationToken& cancelled);
  template <class Reply, class Request>
  Reply ask(const Request& request, const CancellationToken& cancelled);

  RemoteRunnerOptions options_;
  std::uint64_t session_;
  std::unique_ptr<protocol::Link> link_;
  std::string target_;
  int cpus_ = 0;
  protocol::Envelope task_;
  bool has_task_ = false;
  int reconnections_ = 0;
};

}  // namespace temper::measure
