#include "temper/measure/runner_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "temper/measure/placement.h"
#include "temper/measure/request_kind.h"
#include "temper/protocol/error_reply.h"
#include "temper/protocol/token.h"
#include "temper/runtime/thread_pool.h"
#include "temper/support/error.h"
#include "temper/target/artifact_abi.h"

namespace temper::measure {
namespace {

constexpr double kLookForStop = 0.1;              // seconds
constexpr std::int64_t kStrangerBytes = 1 << 16;  // largest message before a session is open
constexpr double kLastWordsSeconds = 1;
/// A client whose connection was cut comes back before this side has noticed; its former session ends within this.
constexpr double kFormerSessionSeconds = 10;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check_timing(const protocol::Timing& timing, int threads, double most_seconds) {
  if (timing.threads() > threads) {
    throw Error(ErrorCode::InvalidArgument,
                "the session is for " + std::to_string(threads) + " threads, not " + std::to_string(timing.threads()));
  }
  if (!(timing.time_limit_seconds() > 0) || timing.time_limit_seconds() > most_seconds) {
    throw Error(ErrorCode::InvalidArgument, "the time limit of a request is above 0 and at most " +
                                                std::to_string(static_cast<int>(most_seconds)) + " s");
  }
}

RunnerServerOptions completed(RunnerServerOptions options) {
  if (options.endpoint.is_tcp() && options.token.empty()) {
    throw Error(ErrorCode::InvalidArgument, "a runner that listens on TCP needs a token", options.endpoint.text(),
                "give --token-file FILE, or listen on unix:PATH");
  }
  if (!options.token.empty()) protocol::check_token(options.token, "token");
  if (options.runner.empty()) options.runner = find_program("temper-runner");
  if (options.lock_file.empty()) options.lock_file = TimingLock::default_file();
  if (options.memory_limit == 0) options.memory_limit = sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);
  return options;
}

}  // namespace

struct RunnerServer::Connection {
  UniqueFd socket;  ///< the same connection once more, to end a handshake from outside
  std::atomic<bool> admitted = false, done = false;
  std::thread thread;
};

RunnerServer::RunnerServer(RunnerServerOptions options)
    : options_(completed(std::move(options))),
      cpus_(static_cast<int>(runtime::allowed_cpus().size())),
      listener_(options_.endpoint) {}

RunnerServer::~RunnerServer() { end_connections(); }

void RunnerServer::report(const std::string& line) {
  const std::scoped_lock lock(report_mutex_);
  if (options_.report) options_.report(line);
}

int RunnerServer::sessions() const {
  const std::scoped_lock lock(mutex_);
  return sessions_;
}

void RunnerServer::serve(const CancellationToken& stop) {
  while (!stop.requested()) {
    std::optional<UniqueFd> socket = listener_.accept(kLookForStop);
    for (auto i = connections_.begin(); i != connections_.end();) {
      if (!i->done) {
        ++i;
        continue;
      }
      i->thread.join();
      i = connections_.erase(i);
    }
    if (!socket) continue;
    if (std::ssize(connections_) >= options_.most_connections) {
      report("too many connections: one is closed unread");
      continue;
    }
    Connection& connection = connections_.emplace_back();
    connection.socket.reset(fcntl(socket->get(), F_DUPFD_CLOEXEC, 0));
    connection.thread = std::thread([this, &connection, fd = std::move(*socket)]() mutable {
      serve_connection(std::move(fd), connection);
      shutdown(connection.socket.get(), SHUT_RDWR);
      connection.done = true;
    });
  }
  end_connections();
}

void RunnerServer::end_connections() {
  stop_.request();
  {
    const std::scoped_lock lock(mutex_);
    if (session_) session_->stop.request();
  }
  for (Connection& connection : connections_) {
    if (!connection.admitted) shutdown(connection.socket.get(), SHUT_RDWR);
    connection.thread.join();
  }
  connections_.clear();
}

protocol::OpenSession RunnerServer::admit(protocol::Channel& channel) {
  if (!protocol::receive_token(channel.fd(), options_.token, options_.handshake_seconds)) {
    throw Error(ErrorCode::InvalidArgument, "the runner does not know this token", {},
                "give the token of the runner: --token-file, or TEMPER_RUNNER_TOKEN");
  }
  protocol::shake_hands(channel, "remote runner", options_.handshake_seconds, options_.versions);
  protocol::Envelope envelope;
  if (channel.receive(envelope, options_.handshake_seconds) != protocol::Received::Message)
    throw Error(ErrorCode::Io, "the client did not ask for a session");
  if (!envelope.has_open_session()) throw Error(ErrorCode::Corrupt, "the first question to a runner is for a session");
  const protocol::OpenSession& open = envelope.open_session();
  if (open.artifact_version() != TEMPER_ARTIFACT_ABI_VERSION) {
    throw Error(ErrorCode::Version,
                "the tuner builds artifacts of version " + std::to_string(open.artifact_version()) +
                    ", this runner loads version " + std::to_string(TEMPER_ARTIFACT_ABI_VERSION),
                {}, "install both from the same version of Temper");
  }
  if (open.threads() < 1 || open.threads() > cpus_) {
    throw Error(ErrorCode::InvalidArgument,
                std::to_string(open.threads()) + " threads cannot be timed on the runner, which has " +
                    std::to_string(cpus_) + (cpus_ == 1 ? " CPU" : " CPUs"),
                "--threads", "use at most " + std::to_string(cpus_));
  }
  return open;
}

void RunnerServer::enter(const protocol::OpenSession& open, const CancellationToken& stop) {
  for (const double start = now_seconds();;) {
    {
      const std::scoped_lock lock(mutex_);
      if (stop_.requested()) throw Error(ErrorCode::Cancelled, "the runner is being stopped");
      if (!session_) {
        session_ = std::make_unique<Session>(Session{open.session(), open.client(), now_seconds(), stop});
        ++sessions_;
        return;
      }
      // One that is ending already is waited for, and so is the client's own, which only this side believes in.
      const bool ends = session_->stop.requested() || session_->number == open.session();
      if (!ends || now_seconds() - start > kFormerSessionSeconds) {
        throw Error(ErrorCode::Busy,
                    "the runner times for another tuner, " + session_->client + ", for " +
                        std::to_string(std::llround(now_seconds() - session_->since)) + " s now",
                    {}, "wait for it, or use another runner");
      }
      session_->stop.request();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void RunnerServer::leave() {
  const std::scoped_lock lock(mutex_);
  session_.reset();
}

void RunnerServer::serve_connection(UniqueFd socket, Connection& connection) {
  protocol::Channel channel(std::move(socket), kStrangerBytes);
  protocol::OpenSession open;
  const CancellationToken stop;
  try {
    open = admit(channel);
    enter(open, stop);
    connection.admitted = true;
  } catch (const Error& error) {
    report("refused a connection: " + error.message());
    // A peer of another version has been told by its half of the handshake; the others are told here.
    try {
      protocol::Envelope envelope;
      *envelope.mutable_error_reply() = protocol::to_message(error);
      channel.send(envelope, kLastWordsSeconds);
      protocol::close_after_last_words(channel.fd(), kLastWordsSeconds);
    } catch (const Error& unheard) {
      report("it was not told: " + unheard.message());  // it is gone, or does not listen
    }
    return;
  }
  try {
    protocol::Envelope envelope;
    envelope.mutable_session_opened()->set_target(options_.target);
    envelope.mutable_session_opened()->set_cpus(cpus_);
    channel.send(envelope, options_.handshake_seconds);
    channel.set_max_message_bytes(protocol::kMaxMessageBytes);
    protocol::Link link(std::move(channel), options_.link, stop);
    report("serves " + open.client());
    serve_session(link, open, stop);
    report("served " + open.client() + ": " + link.why_lost());
  } catch (const Error& error) {
    report("served " + open.client() + ": " + error.message());
  }
  leave();
}

void RunnerServer::serve_session(protocol::Link& link, const protocol::OpenSession& open,
                                 const CancellationToken& stop) {
  RunnerOptions runner_options;
  runner_options.command = {options_.runner, options_.memory_limit, timing_cpus(open.threads())};
  RunnerClient runner(spawner_, runner_options);
  for (;;) {
    protocol::Envelope request;
    const protocol::Received received = link.receive(request, kLookForStop);
    if (stop.requested()) break;
    if (received == protocol::Received::TimedOut) continue;
    protocol::Envelope reply;
    try {
      reply = answer(request, link, runner, open, stop);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Cancelled) break;
      *reply.mutable_error_reply() = protocol::to_message(error);
    }
    link.send(reply);
  }
  if (link.lost().requested()) return;
  protocol::Envelope farewell;
  *farewell.mutable_error_reply() =
      protocol::to_message(Error(ErrorCode::Cancelled, "the runner is being stopped, or the tuner has come back"));
  link.send(farewell);
  link.cut("stopped");
}

protocol::Envelope RunnerServer::answer(const protocol::Envelope& request, protocol::Link& link, RunnerClient& runner,
                                        const protocol::OpenSession& open, const CancellationToken& stop) {
  protocol::Envelope reply;
  if (request.has_set_task()) {
    reply.mutable_set_task_reply()->set_task(request.set_task().task());
    runner.set_task(request.set_task());
    return reply;
  }
  const auto time = [&](const auto& question, auto& answer, const auto& ask) {
    check_timing(question.timing(), open.threads(), options_.most_request_seconds);
    TimingLock lock(options_.lock_file);
    const double start = now_seconds();
    link.set_waiting(true);
    const std::optional<TimingLock::Guard> guard = lock.acquire(TimingLock::Mode::Time, stop);
    link.set_waiting(false);
    const double waited = now_seconds() - start;
    if (!guard) stop.throw_if_requested();
    answer = ask(question);
    answer.set_waited_seconds(waited);
  };
  if (request.has_measure_request()) {
    time(request.measure_request(), *reply.mutable_measure_reply(),
         [&](const auto& question) { return runner.measure(question, stop); });
  } else if (request.has_race_request()) {
    time(request.race_request(), *reply.mutable_race_reply(),
         [&](const auto& question) { return runner.race(question, stop); });
  } else {
    throw Error(ErrorCode::Corrupt, "the tuner sent a message that a remote runner does not take");
  }
  return reply;
}

}  // namespace temper::measure
