#include "temper/runner/session.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>

#include "temper/protocol/failure.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::runner {
namespace {

using record::FailureKind;

/// What an error means for the candidate that is being measured.
Outcome outcome_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::Io: return {FailureKind::ResourceLimit, error.message()};
    case ErrorCode::Corrupt: {
      // The loader says so when it has no room for the image's own data.
      const bool no_room = error.message().find("cannot allocate memory") != std::string::npos ||
                           error.message().find("failed to map segment") != std::string::npos ||
                           error.message().find("cannot map zero-fill pages") != std::string::npos;
      return {no_room ? FailureKind::ResourceLimit : FailureKind::CompileError, error.message()};
    }
    default: return {FailureKind::CompileError, error.message()};
  }
}

template <class Reply>
bool store(const Outcome& outcome, Reply& reply) {
  reply.set_failure(protocol::to_message(outcome.failure));
  reply.set_reason(outcome.reason);
  return outcome.ok();
}

/// Runs `body`; what it throws becomes the reply's failure.
template <class Reply, class Body>
void guarded(Reply& reply, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    store(outcome_of(error), reply);
  } catch (const std::bad_alloc&) {
    store({FailureKind::ResourceLimit, "the runner has no memory left"}, reply);
  }
}

runtime::ArtifactImage load(const std::string& bytes) {
  return runtime::ArtifactImage::load(std::as_bytes(std::span(bytes)));
}

}  // namespace

Session::Session(protocol::Channel& channel, FaultHandler& faults, const Clock& clock, Surroundings& surroundings,
                 SessionOptions options)
    : channel_(&channel),
      faults_(&faults),
      clock_(&clock),
      watch_(surroundings, clock),
      options_(std::move(options)),
      own_stack_(faults.guard_stack()) {
  if (!options_.cpus.empty()) runtime::pin_current_thread(options_.cpus.front());
}

void Session::serve() {
  protocol::Envelope request;
  for (;;) {
    if (channel_->receive(request) == protocol::Received::Closed) return;
    protocol::Envelope reply;
    switch (request.body_case()) {
      case protocol::Envelope::kSetTask: *reply.mutable_set_task_reply() = set_task(request.set_task()); break;
      case protocol::Envelope::kMeasureRequest:
        *reply.mutable_measure_reply() = measure(request.measure_request());
        break;
      case protocol::Envelope::kRaceRequest: *reply.mutable_race_reply() = race(request.race_request()); break;
      default: throw Error(ErrorCode::Corrupt, "the tuner sent a message that a runner does not take");
    }
    channel_->send(reply);
  }
}

Session::Pool& Session::pool(int threads) {
  const auto found = pools_.find(threads);
  if (found != pools_.end()) return found->second;
  Pool pool{std::make_unique<runtime::ThreadPool>(threads, options_.cpus), {own_stack_}};
  struct Context {
    FaultHandler* faults;
    std::mutex mutex;
    std::vector<FaultZone>* zones;
  } context{faults_, {}, &pool.stack_zones};
  pool.threads->parallel_for(
      threads,
      [](void* opaque, int thread, std::int64_t, std::int64_t) {
        auto& c = *static_cast<Context*>(opaque);
        if (thread == 0) return;  // known already
        const std::scoped_lock lock(c.mutex);
        c.zones->push_back(c.faults->guard_stack());
      },
      &context);
  return pools_.emplace(threads, std::move(pool)).first->second;
}

Outcome Session::check_task(std::uint64_t task) const {
  if (task == task_.id) return {};
  return {FailureKind::CompileError,
          "the runner has task " + std::to_string(task_.id) + ", not " + std::to_string(task)};
}

protocol::SetTaskReply Session::set_task(const protocol::SetTask& request) {
  protocol::SetTaskReply reply;
  reply.set_task(request.task());
  guarded(reply, [&] {
    task_ = {};  // first, so that both do not need room at once
    task_ = make_task_data(request);
  });
  return reply;
}

protocol::MeasureReply Session::measure(const protocol::MeasureRequest& request) {
  protocol::MeasureReply reply;
  reply.set_id(request.id());
  guarded(reply, [&] { measure(request, clock_->seconds(), reply); });
  return reply;
}

void Session::measure(const protocol::MeasureRequest& request, double start, protocol::MeasureReply& reply) {
  const protocol::Timing& timing = request.timing();
  const int threads = std::max(timing.threads(), 1);
  if (!store(check_task(request.task()), reply)) return;
  const runtime::ArtifactImage image = load(request.artifact());
  if (!store(check_interface(image, task_, threads, options_.memory_limit), reply)) return;
  Pool& workers = pool(threads);
  if (request.check() || request.return_outputs()) {
    CheckResult result = check_run(image, task_, *workers.threads, *faults_, workers.stack_zones, request.check());
    reply.set_max_error(result.max_error);
    reply.set_check_seconds(clock_->seconds() - start);
    if (request.return_outputs()) {
      for (auto& [name, data] : result.outputs) {
        protocol::OutputData& output = *reply.add_outputs();
        output.set_name(std::move(name));
        output.set_data(std::move(data));
      }
    }
    if (!store(result.outcome, reply)) return;
  }
  if (timing.repeats() == 0) return;

  const double timing_start = clock_->seconds();
  faults_->watch(workers.stack_zones);
  TimedKernel kernel(image, task_, *workers.threads);
  const double limit = timing.time_limit_seconds() > 0 ? timing.time_limit_seconds() : 1e9;
  watch_.know(timing.best_probe_seconds());
  const std::int64_t number = calibrate(kernel, timing, *clock_);
  const Samples samples = sample([&] { return take_sample(kernel, timing, number, *clock_); }, [&] { kernel.call(); },
                                 number, timing, watch_, *clock_, start + 0.8 * limit);
  for (const double seconds : samples.seconds) reply.add_seconds(seconds);
  reply.set_number(samples.number);
  reply.set_timing_seconds(clock_->seconds() - timing_start);
  *reply.mutable_disturbed() = samples.disturbed;
  reply.set_best_probe_seconds(watch_.best_probe());
  if (!samples.unstable.empty() && !store({FailureKind::Unstable, samples.unstable}, reply)) return;
  if (request.check()) {
    double max_error = reply.max_error();
    store(check_after(image, kernel, max_error), reply);
    reply.set_max_error(max_error);
  }
}

Outcome Session::check_after(const runtime::ArtifactImage& image, const TimedKernel& kernel, double& max_error) const {
  const auto buffers = image.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].role != TEMPER_OUTPUT) continue;
    Outcome outcome =
        compare_output(buffers[i].name, task_.outputs.find(buffers[i].name)->second, kernel.memory(i), max_error);
    if (!outcome.ok()) {
      outcome.reason = "right at first, wrong after many calls: " + outcome.reason;
      return outcome;
    }
  }
  return {};
}

protocol::RaceReply Session::race(const protocol::RaceRequest& request) {
  protocol::RaceReply reply;
  reply.set_id(request.id());
  guarded(reply, [&] { race(request, clock_->seconds(), reply); });
  return reply;
}

void Session::race(const protocol::RaceRequest& request, double start, protocol::RaceReply& reply) {
  const protocol::Timing& timing = request.timing();
  const int threads = std::max(timing.threads(), 1);
  if (!store(check_task(request.task()), reply)) return;
  Pool& workers = pool(threads);
  faults_->watch(workers.stack_zones);
  std::vector<runtime::ArtifactImage> images;
  std::vector<std::unique_ptr<TimedKernel>> kernels;
  images.reserve(static_cast<std::size_t>(request.artifacts_size()));  // kernels point into it
  for (const std::string& artifact : request.artifacts()) {
    images.push_back(load(artifact));
    if (!store(check_interface(images.back(), task_, threads, options_.memory_limit), reply)) return;
    kernels.push_back(std::make_unique<TimedKernel>(images.back(), task_, *workers.threads));
    const int racer = reply.racers_size();
    const bool is_given = racer < request.numbers_size() && request.numbers(racer) > 0;
    reply.add_racers()->set_number(is_given ? request.numbers(racer) : calibrate(*kernels.back(), timing, *clock_));
  }
  RandomStream random(request.seed());
  std::vector<int> order(kernels.size());
  std::iota(order.begin(), order.end(), 0);
  const double end = start + 0.8 * (timing.time_limit_seconds() > 0 ? timing.time_limit_seconds() : 1e9);
  watch_.know(timing.best_probe_seconds());
  std::vector<std::vector<Reading>> readings(kernels.size());
  /// Whether the sample was taken, and is not disturbed beside those before it.
  const auto take = [&](int racer) {
    const auto index = static_cast<std::size_t>(racer);
    if (!watch_.settle()) {
      reply.mutable_disturbed()->set_clock(reply.disturbed().clock() + 1);
      return false;
    }
    warm_up(*kernels[index], timing, *clock_);
    readings[index].push_back(
        watch_.read([&] { return take_sample(*kernels[index], timing, reply.racers(racer).number(), *clock_); }));
    if (judge(readings[index]).back() == Disturbance::None) return true;
    watch_.pause();
    return false;
  };
  int rounds = 0;
  for (; rounds < timing.repeats() && (rounds == 0 || clock_->seconds() < end); ++rounds) {
    random.shuffle(order);
    for (const int racer : order) {
      bool taken = take(racer);
      for (int again = 0; !taken && again < timing.retakes() && clock_->seconds() < end; ++again) taken = take(racer);
    }
  }
  // What was right when it was taken may be disturbed beside what came later; then others are taken in its place.
  for (const int racer : order) {
    const std::vector<Reading>& of_racer = readings[static_cast<std::size_t>(racer)];
    for (int again = 0; again < timing.retakes() && clock_->seconds() < end; ++again) {
      if (std::ranges::count(judge(of_racer), Disturbance::None) >= rounds) break;
      take(racer);
    }
  }
  reply.set_best_probe_seconds(watch_.best_probe());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    Samples samples;
    samples.disturbed = reply.disturbed();
    keep_undisturbed(readings[i], samples);
    *reply.mutable_disturbed() = samples.disturbed;
    for (const double seconds : samples.seconds) reply.mutable_racers(static_cast<int>(i))->add_seconds(seconds);
    if (samples.seconds.empty() && reply.failure() == protocol::FAILURE_NONE)
      store({FailureKind::Unstable, disturbed_text(0, samples.disturbed)}, reply);
  }
}

}  // namespace temper::runner
