#include "temper/measure/runner_client.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "temper/measure/request_kind.h"
#include "temper/protocol/failure.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

using record::FailureKind;
using SteadyClock = std::chrono::steady_clock;

constexpr double kLookForCancellation = 0.05;  // seconds
constexpr int kMostDeaths = 3;                 // of runners in a row, while they take a task

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

}  // namespace

RunnerClient::RunnerClient(Spawner& spawner, RunnerOptions options) : spawner_(&spawner), options_(std::move(options)) {
  current_ = Runner{Worker::start(*spawner_, options_.command)};
  spare_ = Runner{Worker::start(*spawner_, options_.command)};
}

void RunnerClient::set_task(protocol::SetTask task) {
  *task_.mutable_set_task() = std::move(task);
  current_->has_task = spare_->has_task = false;
}

void RunnerClient::replace() {
  ++replacements_;
  current_ = std::move(spare_);
  spare_ = Runner{Worker::start(*spawner_, options_.command)};
}

std::optional<protocol::Envelope> RunnerClient::exchange(Runner& runner, const protocol::Envelope& request,
                                                         double limit_seconds, const CancellationToken& cancelled,
                                                         Death& death) {
  try {
    runner.worker.channel().send(request, options_.start_limit_seconds);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::InvalidArgument) throw;  // too large: the runner is not to blame
    if (error.code() == ErrorCode::Busy) runner.worker.kill();
    death = runner.worker.bury();
    return std::nullopt;
  }
  const SteadyClock::time_point start = SteadyClock::now();
  for (;;) {
    if (cancelled.requested()) {
      runner.worker.kill();
      replace();
      cancelled.throw_if_requested();
    }
    const double left = limit_seconds - seconds_since(start);
    if (left <= 0) {
      runner.worker.kill();
      death = {FailureKind::RunTimeout, "took longer than " + std::to_string(limit_seconds) + " s"};
      return std::nullopt;
    }
    protocol::Envelope reply;
    try {
      switch (runner.worker.channel().receive(reply, std::min(left, kLookForCancellation))) {
        case protocol::Received::Message: return reply;
        case protocol::Received::TimedOut: break;
        case protocol::Received::Closed: death = runner.worker.bury(); return std::nullopt;
      }
    } catch (const Error& error) {
      // The candidate has written to the socket, or over what the runner wanted to write.
      runner.worker.kill();
      death = {FailureKind::Crash, "spoiled its runner: " + error.message()};
      return std::nullopt;
    }
  }
}

RunnerClient::Runner& RunnerClient::ready(const CancellationToken& cancelled) {
  current_->worker.greet(options_.start_limit_seconds);
  for (int attempt = 1; !current_->has_task && task_.has_set_task(); ++attempt) {
    Death death;
    const auto reply = exchange(*current_, task_, options_.start_limit_seconds, cancelled, death);
    if (!reply) {
      replace();
      // It may have been killed as a spare; a task that kills them kills them all.
      if (attempt == kMostDeaths)
        throw Error(ErrorCode::Io, "runners die while they take the task's data: " + death.reason);
      current_->worker.greet(options_.start_limit_seconds);
      continue;
    }
    const protocol::SetTaskReply& answer = reply->set_task_reply();
    if (answer.failure() == protocol::FAILURE_RESOURCE_LIMIT) {
      throw Error(ErrorCode::Io, "the task's data do not fit into a runner: " + answer.reason(), {},
                  "raise the memory limit of runners");
    }
    if (answer.failure() != protocol::FAILURE_NONE) {
      throw Error(ErrorCode::InvalidArgument, "the runner refuses the task: " + answer.reason());
    }
    current_->has_task = true;
  }
  spare_->worker.greet(options_.start_limit_seconds);  // so that it does not start up while the other one times
  return *current_;
}

template <class Reply, class Request>
Reply RunnerClient::ask(const Request& request, const CancellationToken& cancelled) {
  const double limit = request.timing().time_limit_seconds();
  TEMPER_CHECK(limit > 0, "a request has a time limit");
  Runner& runner = ready(cancelled);
  protocol::Envelope envelope;
  put(envelope, request);
  Death death;
  std::optional<protocol::Envelope> answer = exchange(runner, envelope, limit, cancelled, death);
  Reply reply;
  if (Reply* received = answer ? get(*answer, request) : nullptr;
      received != nullptr && received->id() == request.id()) {
    reply = std::move(*received);
  } else {
    if (answer) death = {FailureKind::Crash, "spoiled its runner: it answers another question"};
    reply.set_id(request.id());
    reply.set_failure(protocol::to_message(death.kind));
    reply.set_reason(death.reason);
  }
  // What never ran, or only ran while others did too, has done nothing to its runner.
  const bool is_harmless = reply.failure() == protocol::FAILURE_NONE ||
                           reply.failure() == protocol::FAILURE_COMPILE_ERROR ||
                           reply.failure() == protocol::FAILURE_UNSTABLE;
  if (!is_harmless) replace();
  return reply;
}

protocol::MeasureReply RunnerClient::measure(const protocol::MeasureRequest& request,
                                             const CancellationToken& cancelled) {
  return ask<protocol::MeasureReply>(request, cancelled);
}

protocol::RaceReply RunnerClient::race(const protocol::RaceRequest& request, const CancellationToken& cancelled) {
  return ask<protocol::RaceReply>(request, cancelled);
}

}  // namespace temper::measure
