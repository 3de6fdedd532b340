#include "temper/measure/remote_runner.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>
#include <utility>

#include "temper/measure/request_kind.h"
#include "temper/protocol/error_reply.h"
#include "temper/protocol/handshake.h"
#include "temper/protocol/token.h"
#include "temper/support/error.h"
#include "temper/target/artifact_abi.h"

namespace temper::measure {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr double kLookForCancellation = 0.05;  // seconds
/// A request whose connection was lost so often is not made again: it may be what loses it.
constexpr int kMostAttempts = 4;
constexpr double kFirstPause = 0.1, kLongestPause = 2;  // seconds between attempts to connect
constexpr double kTakeTaskSeconds = 60;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

void pause(double seconds, const CancellationToken& cancelled) {
  const SteadyClock::time_point start = SteadyClock::now();
  while (seconds_since(start) < seconds) {
    cancelled.throw_if_requested();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(seconds, kLookForCancellation)));
  }
}

std::uint64_t draw_session() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

std::string own_name() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return "process " + std::to_string(getpid()) + " on " + host.data();
}

/// Whether trying again may help.
bool is_passing(const Error& error) {
  return error.code() == ErrorCode::Io || error.code() == ErrorCode::Busy || error.code() == ErrorCode::Cancelled;
}

}  // namespace

RemoteRunner::RemoteRunner(RemoteRunnerOptions options) : options_(std::move(options)), session_(draw_session()) {
  if (!options_.token.empty()) protocol::check_token(options_.token, "token");
  connect();
}

RemoteRunner::~RemoteRunner() = default;

void RemoteRunner::connect() {
  link_.reset();
  has_task_ = false;
  protocol::Channel channel(protocol::connect_to(options_.endpoint, options_.connect_seconds));
  const auto receive = [&](protocol::Envelope& envelope) {
    switch (channel.receive(envelope, options_.handshake_seconds)) {
      case protocol::Received::Message: break;
      case protocol::Received::Closed: throw Error(ErrorCode::Io, "the runner closed the connection");
      case protocol::Received::TimedOut: throw Error(ErrorCode::Busy, "the runner does not answer");
    }
    if (envelope.has_error_reply()) throw protocol::to_error(envelope.error_reply());
  };
  try {
    protocol::send_token(channel.fd(), options_.token, options_.handshake_seconds);
    protocol::shake_hands(channel, "tuner", options_.handshake_seconds);
    protocol::Envelope envelope;
    protocol::OpenSession& open = *envelope.mutable_open_session();
    open.set_session(session_);
    open.set_client(own_name());
    open.set_threads(options_.threads);
    open.set_artifact_version(TEMPER_ARTIFACT_ABI_VERSION);
    channel.send(envelope, options_.handshake_seconds);
    receive(envelope);
    if (!envelope.has_session_opened())
      throw Error(ErrorCode::Corrupt, "the runner answers another question than for a session");
    protocol::SessionOpened& opened = *envelope.mutable_session_opened();
    if (!target_.empty() && target_ != opened.target()) {
      throw Error(ErrorCode::Unsupported, "another machine answers now than the one that was tuned for so far", {},
                  "start again: its records are kept apart");
    }
    target_ = std::move(*opened.mutable_target());
    cpus_ = opened.cpus();
  } catch (const Error& error) {
    if (!error.where().empty()) throw;
    throw Error(error.code(), error.message(), options_.endpoint.text(), error.hint());
  }
  link_ = std::make_unique<protocol::Link>(std::move(channel), options_.link);
}

protocol::Link& RemoteRunner::connected(const CancellationToken& cancelled) {
  if (link_ && !link_->lost().requested()) return *link_;
  const std::string address = options_.endpoint.text();
  if (link_ && options_.report) options_.report("the connection to " + address + " is lost: " + link_->why_lost());
  link_.reset();
  const SteadyClock::time_point start = SteadyClock::now();
  for (double wait = kFirstPause;; wait = std::min(2 * wait, kLongestPause)) {
    cancelled.throw_if_requested();
    try {
      connect();
      break;
    } catch (const Error& error) {
      if (!is_passing(error)) throw;
      if (seconds_since(start) + wait > options_.reconnect_seconds) {
        throw Error(error.code() == ErrorCode::Busy ? ErrorCode::Busy : ErrorCode::Io,
                    "the connection to the runner stays lost: " + error.message(), address,
                    "what was measured is kept; the same command goes on from there");
      }
    }
    pause(wait, cancelled);
  }
  ++reconnections_;
  if (options_.report) options_.report("connected to " + address + " again");
  return *link_;
}

void RemoteRunner::set_task(protocol::SetTask task) {
  *task_.mutable_set_task() = std::move(task);
  has_task_ = false;
}

std::optional<protocol::Envelope> RemoteRunner::exchange(protocol::Link& link, const protocol::Envelope& request,
                                                         double limit_seconds, const CancellationToken& cancelled) {
  try {
    link.send(request);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::InvalidArgument) throw;  // too large: no connection takes it
    return std::nullopt;
  }
  double busy = 0;  // seconds in which the runner did not wait for its machine
  for (SteadyClock::time_point last = SteadyClock::now();;) {
    protocol::Envelope reply;
    switch (link.receive(reply, kLookForCancellation)) {
      case protocol::Received::Message:
        if (reply.has_error_reply()) {
          if (reply.error_reply().code() != to_string(ErrorCode::Cancelled))
            throw protocol::to_error(reply.error_reply());
          link.cut(reply.error_reply().message());  // the runner is being stopped, perhaps to be started again
          return std::nullopt;
        }
        return reply;
      case protocol::Received::Closed: return std::nullopt;
      case protocol::Received::TimedOut: break;
    }
    if (cancelled.requested()) {
      link.cut("stopped on request");  // which also stops what runs there
      cancelled.throw_if_requested();
    }
    if (!link.other_waits()) busy += seconds_since(last);
    last = SteadyClock::now();
    if (busy > limit_seconds) {
      link.cut("the runner lives, and does not answer");
      return std::nullopt;
    }
  }
}

bool RemoteRunner::give_task(protocol::Link& link, const CancellationToken& cancelled) {
  if (has_task_ || !task_.has_set_task()) return true;
  const auto reply = exchange(link, task_, kTakeTaskSeconds, cancelled);
  if (reply && !reply->has_set_task_reply()) link.cut("the runner answers another question");
  has_task_ = reply && reply->has_set_task_reply();
  return has_task_;
}

template <class Reply, class Request>
Reply RemoteRunner::ask(const Request& request, const CancellationToken& cancelled) {
  protocol::Envelope envelope;
  put(envelope, request);
  const double limit = request.timing().time_limit_seconds() + options_.answer_seconds;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    protocol::Link& link = connected(cancelled);
    if (!give_task(link, cancelled)) continue;
    std::optional<protocol::Envelope> answer = exchange(link, envelope, limit, cancelled);
    if (!answer) continue;
    if (Reply* reply = get(*answer, request); reply != nullptr && reply->id() == request.id()) return std::move(*reply);
    link.cut("the runner answers another question");
  }
  throw Error(ErrorCode::Io,
              "the connection was lost " + std::to_string(kMostAttempts) +
                  " times at the same measurement: " + link_->why_lost(),
              options_.endpoint.text(), "what was measured is kept; the same command goes on from there");
}

protocol::MeasureReply RemoteRunner::measure(const protocol::MeasureRequest& request,
                                             const CancellationToken& cancelled) {
  return ask<protocol::MeasureReply>(request, cancelled);
}

protocol::RaceReply RemoteRunner::race(const protocol::RaceRequest& request, const CancellationToken& cancelled) {
  return ask<protocol::RaceReply>(request, cancelled);
}

}  // namespace temper::measure
