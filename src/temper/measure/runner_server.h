// The runner's side of remote measuring: lets tuners in, one at a time, and has runner processes of this machine time
// for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "temper/measure/runner_client.h"
#include "temper/measure/timing_lock.h"
#include "temper/protocol/endpoint.h"
#include "temper/protocol/handshake.h"
#include "temper/protocol/link.h"
#include "temper/support/cancellation.h"

namespace temper::measure {

struct RunnerServerOptions {
  protocol::Endpoint endpoint;
  std::string token;                  ///< empty: none, which TCP does not allow
  std::string target;                 ///< target::serialise of this machine
  std::filesystem::path runner;       ///< program; empty: `temper-runner` beside the running one
  std::int64_t memory_limit = 0;      ///< bytes a candidate may take; 0: half of the machine's memory
  std::filesystem::path lock_file;    ///< empty: `TimingLock::default_file()`
  double handshake_seconds = 10;      ///< for each step of it
  double most_request_seconds = 600;  ///< largest time limit that a request may ask for
  int most_connections = 16;          ///< that are being let in or served; more are closed at once
  protocol::LinkOptions link;
  protocol::Versions versions = protocol::kVersions;
  /// Told in a line what happens; from several threads, one at a time.
  std::function<void(const std::string&)> report;
};

/// Whatever a candidate does to its runner process, the server replaces the process and goes on. Whatever a client does
/// to its connection costs that connection.
class RunnerServer {
 public:
  /// Listens from here on. Throws as protocol::Listener; Error{InvalidArgument} for TCP without a token;
  /// Error{NotFound} without the runner's program.
  explicit RunnerServer(RunnerServerOptions options);
  ~RunnerServer();

  /// Where it listens, with the port that was found free.
  const protocol::Endpoint& endpoint() const { return listener_.endpoint(); }

  /// Serves until `stop` is requested; then ends what runs, tells the clients and returns.
  void serve(const CancellationToken& stop);

  /// Sessions that were opened so far.
  int sessions() const;

 private:
  struct Connection;
  /// The one session that is open.
  struct Session {
    std::uint64_t number = 0;
    std::string client;
    double since = 0;
    CancellationToken stop;
  };
  void serve_connection(UniqueFd socket, Connection& connection);
  /// Tells all clients that the runner is being stopped, and waits for their threads. Nothing is served afterwards.
  void end_connections();
  /// Lets the client in, or throws the Error that it is told.
  protocol::OpenSession admit(protocol::Channel& channel);
  /// Waits for a session that ends, or is the client's own former one. Throws Error{Busy} that names the client of
  /// another one.
  void enter(const protocol::OpenSession& open, const CancellationToken& stop);
  void leave();
  void serve_session(protocol::Link& link, const protocol::OpenSession& open, const CancellationToken& stop);
  protocol::Envelope answer(const protocol::Envelope& request, protocol::Link& link, RunnerClient& runner,
                            const protocol::OpenSession& open, const CancellationToken& stop);
  void report(const std::string& line);

  RunnerServerOptions options_;
  int cpus_;
  protocol::Listener listener_;
  Spawner spawner_;  // outlives the runners of all sessions
  CancellationToken stop_;
  mutable std::mutex mutex_;
  std::unique_ptr<Session> session_;
  int sessions_ = 0;
  std::mutex report_mutex_;
  std::list<Connection> connections_;
};

}  // namespace temper::measure
