// A remote runner and its client, with a relay between them that cuts, stalls and slows down.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "measure/fixtures.h"
#include "measure/proxy.h"
#include "support/process_list.h"
#include "temper/measure/measurer.h"
#include "temper/measure/remote_runner.h"
#include "temper/measure/runner_server.h"
#include "temper/protocol/failure.h"
#include "temper/protocol/token.h"
#include "temper/support/error.h"
#include "temper/target/artifact_abi.h"

namespace temper::measure {
namespace {

using record::FailureKind;
using namespace temper::testing;
using ::testing::HasSubstr;

const std::string kToken = "a token for tests";

/// A server in a thread of this process, whose runners are real.
class Server {
 public:
  explicit Server(RunnerServerOptions options) {
    options.report = [this](const std::string& line) {
      const std::scoped_lock lock(mutex_);
      lines_ += line + "\n";
    };
    server_ = std::make_unique<RunnerServer>(std::move(options));
    thread_ = std::thread([this] { server_->serve(stop_); });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    stop_.request();
    thread_.join();
  }
  RunnerServer& operator*() { return *server_; }
  RunnerServer* operator->() { return server_.get(); }
  std::string lines() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }
  void wait_for_line(const std::string& text) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (lines().find(text) == std::string::npos) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "no '" << text << "' in: " << lines();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

 private:
  CancellationToken stop_;
  mutable std::mutex mutex_;
  std::string lines_;
  std::unique_ptr<RunnerServer> server_;
  std::thread thread_;
};

class Remote : public ::testing::Test {
 protected:
  RunnerServerOptions server_options() const {
    RunnerServerOptions options;
    options.endpoint = protocol::parse_endpoint("unix:" + (folder / "server").string());
    options.token = kToken;
    options.target = "target of the runner";
    options.runner = real_runner();
    options.memory_limit = kRunnerMemory;
    options.lock_file = folder / "lock";
    return options;
  }
  RemoteRunnerOptions client_options(const protocol::Endpoint& endpoint) const {
    RemoteRunnerOptions options;
    options.endpoint = endpoint;
    options.token = kToken;
    options.reconnect_seconds = 30;
    return options;
  }
  protocol::Endpoint proxy_endpoint() const { return protocol::parse_endpoint("unix:" + (folder / "proxy").string()); }
  protocol::MeasureReply measure(RunnerAccess& runner, const std::string& kernel, double limit = 20) const {
    protocol::MeasureRequest request = request_for(kernel);
    request.mutable_timing()->set_time_limit_seconds(limit);
    return runner.measure(request, cancelled);
  }
  void expect_right(RunnerAccess& runner) const {
    const protocol::MeasureReply reply = measure(runner, "right");
    EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE) << reply.reason();
    EXPECT_EQ(reply.seconds_size(), 3);
    EXPECT_EQ(reply.id(), 17U);
  }
  /// What a connection that is up to no good gets.
  protocol::Channel stranger(const protocol::Endpoint& endpoint, const std::string& token = kToken) const {
    protocol::Channel channel(protocol::connect_to(endpoint, 10));
    protocol::send_token(channel.fd(), token, 10.0);
    return channel;
  }
  static void open_session(protocol::Channel& channel) {
    protocol::shake_hands(channel, "tuner", 10.0);
    protocol::Envelope envelope;
    envelope.mutable_open_session()->set_session(99);
    envelope.mutable_open_session()->set_client("a stranger");
    envelope.mutable_open_session()->set_threads(1);
    envelope.mutable_open_session()->set_artifact_version(TEMPER_ARTIFACT_ABI_VERSION);
    channel.send(envelope, 10.0);
    ASSERT_EQ(channel.receive(envelope, 30.0), protocol::Received::Message);
    ASSERT_TRUE(envelope.has_session_opened());
  }
  template <class Body>
  static Error error_of(Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return {ErrorCode::Internal, "nothing was thrown"};
  }

  TemporaryFolder folder;
  CancellationToken cancelled;
};

TEST_F(Remote, TimesAsALocalRunnerDoes) {
  Server server(server_options());
  RemoteRunner runner(client_options(server->endpoint()));
  EXPECT_EQ(runner.target(), "target of the runner");
  EXPECT_GE(runner.cpus(), 1);
  runner.set_task(affine_task());
  expect_right(runner);
  for (const auto& [kernel, kind] :
       {std::pair{"segfault", FailureKind::Crash}, std::pair{"write_past", FailureKind::OutOfBounds},
        std::pair{"wrong", FailureKind::WrongResult}})
    EXPECT_EQ(protocol::from_message(measure(runner, kernel).failure()), kind) << kernel;
  EXPECT_EQ(protocol::from_message(measure(runner, "hang", 0.1).failure()), FailureKind::RunTimeout);
  protocol::RaceRequest race;
  race.set_id(4);
  race.set_task(1);
  race.add_artifacts(artifact_text("right"));
  race.add_artifacts(artifact_text("right"));
  *race.mutable_timing() = request_for("right").timing();
  EXPECT_EQ(runner.race(race, cancelled).racers_size(), 2);
  expect_right(runner);
  EXPECT_EQ(runner.reconnections(), 0);
  EXPECT_EQ(server->sessions(), 1);
}

TEST_F(Remote, MeasuresForAMeasurer) {
  Server server(server_options());
  const SystemClock clock;
  MeasureOptions options = test_options(folder);
  options.runner = "/nowhere/temper-runner";  // none is started here
  Measurer measurer("target", options, clock, std::make_unique<RemoteRunner>(client_options(server->endpoint())));
  measurer.set_task(affine_task());
  const std::vector<MeasureInput> batch{{"c", "artifact right"}, {"c", "artifact wrong"}, {"c", "refuse"}};
  const std::vector<Measured> results = measurer.measure(batch, cancelled);
  EXPECT_TRUE(results[0].measurement.ok()) << results[0].measurement.reason;
  EXPECT_EQ(results[1].measurement.failure, FailureKind::WrongResult);
  EXPECT_EQ(results[2].measurement.failure, FailureKind::InvalidSchedule);
}

TEST_F(Remote, ListensOnTcpOnlyWithAToken) {
  RunnerServerOptions options = server_options();
  options.endpoint = protocol::parse_endpoint("tcp://:0");
  options.token.clear();
  const Error error = error_of([&] { const RunnerServer server(options); });
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("needs a token"));
  options.token = kToken;
  Server server(options);
  RemoteRunner runner(client_options(server->endpoint()));
  runner.set_task(affine_task());
  expect_right(runner);
}

TEST_F(Remote, AWrongTokenIsToldAndCostsNobodyElseAnything) {
  Server server(server_options());
  RemoteRunner runner(client_options(server->endpoint()));
  runner.set_task(affine_task());
  for (const std::string& token : {std::string(), kToken + "x", std::string(16, 'y')}) {
    RemoteRunnerOptions options = client_options(server->endpoint());
    options.token = token;
    const Error error = error_of([&] { const RemoteRunner other(options); });
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument) << error.what();
    EXPECT_THAT(error.message(), HasSubstr("does not know this token"));
    EXPECT_EQ(error.where(), server->endpoint().text());
  }
  expect_right(runner);
  EXPECT_EQ(server->sessions(), 1);
}

TEST_F(Remote, OtherVersionsAreToldWithBothNames) {
  RunnerServerOptions options = server_options();
  options.versions = {7, 9};
  Server server(options);
  const Error error = error_of([&] { const RemoteRunner runner(client_options(server->endpoint())); });
  EXPECT_EQ(error.code(), ErrorCode::Version);
  EXPECT_THAT(error.message(), HasSubstr("the remote runner speaks protocol version 7 to 9, this tuner speaks 1"));
  server.wait_for_line("refused a connection: the tuner speaks protocol version 1, this remote runner speaks 7 to 9");
}

TEST_F(Remote, ArtifactsOfAnotherVersionAreRefused) {
  Server server(server_options());
  protocol::Channel channel = stranger(server->endpoint());
  protocol::shake_hands(channel, "tuner", 10.0);
  protocol::Envelope envelope;
  envelope.mutable_open_session()->set_threads(1);
  envelope.mutable_open_session()->set_artifact_version(TEMPER_ARTIFACT_ABI_VERSION + 1);
  channel.send(envelope);
  ASSERT_EQ(channel.receive(envelope, 30.0), protocol::Received::Message);
  EXPECT_EQ(envelope.error_reply().code(), "version");
  EXPECT_THAT(envelope.error_reply().message(), HasSubstr("of version 2, this runner loads version 1"));
}

TEST_F(Remote, OneTunerAtATime) {
  Server server(server_options());
  auto first = std::make_unique<RemoteRunner>(client_options(server->endpoint()));
  const Error error = error_of([&] { const RemoteRunner second(client_options(server->endpoint())); });
  EXPECT_EQ(error.code(), ErrorCode::Busy);
  EXPECT_THAT(error.message(), HasSubstr("times for another tuner, process " + std::to_string(getpid()) + " on "));
  first->set_task(affine_task());
  expect_right(*first);
  first.reset();
  server.wait_for_line("served process");
  RemoteRunner third(client_options(server->endpoint()));
  third.set_task(affine_task());
  expect_right(third);
  EXPECT_EQ(server->sessions(), 2);
}

TEST_F(Remote, MoreThreadsThanCpusAreRefused) {
  Server server(server_options());
  RemoteRunnerOptions options = client_options(server->endpoint());
  options.threads = 100000;
  const Error error = error_of([&] { const RemoteRunner runner(options); });
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error.where(), "--threads");
  options.threads = 1;
  RemoteRunner runner(options);
  runner.set_task(affine_task());
  protocol::MeasureRequest request = request_for("right");
  request.mutable_timing()->set_threads(2);
  EXPECT_EQ(error_of([&] { runner.measure(request, cancelled); }).code(), ErrorCode::InvalidArgument);
  request = request_for("right");
  request.mutable_timing()->set_time_limit_seconds(1e6);
  EXPECT_THAT(error_of([&] { runner.measure(request, cancelled); }).message(), HasSubstr("at most 600 s"));
  expect_right(runner);
}

TEST_F(Remote, ATaskThatContradictsItselfIsRefusedAsLocally) {
  Server server(server_options());
  RemoteRunner runner(client_options(server->endpoint()));
  protocol::SetTask task = affine_task();
  task.mutable_inputs(0)->set_data("short");
  runner.set_task(task);
  const Error error = error_of([&] { measure(runner, "right"); });
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("5 bytes of data"));
  runner.set_task(affine_task());
  expect_right(runner);
}

constexpr int kManySamples = 500;

/// Runs `fault` once the server times what `measure` asks for.
template <class Fault>
protocol::MeasureReply with_fault(RunnerAccess& runner, const std::filesystem::path& lock_file, Fault fault) {
  std::thread saboteur([&] {
    // The lock is held only while something is timed.
    TimingLock lock(lock_file);
    for (bool timed = false; !timed;) {
      const CancellationToken at_once;
      std::jthread timer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        at_once.request();
      });
      timed = !lock.acquire(TimingLock::Mode::Time, at_once).has_value();
    }
    fault();
  });
  protocol::MeasureRequest request = request_for("right");
  // Many short samples: on a busy machine some of them are undisturbed.
  request.mutable_timing()->set_repeats(kManySamples);
  request.mutable_timing()->set_min_sample_seconds(1e-3);
  request.mutable_timing()->set_time_limit_seconds(60);
  protocol::MeasureReply reply = runner.measure(request, {});
  saboteur.join();
  return reply;
}

TEST_F(Remote, ACutConnectionIsNoFaultOfTheCandidate) {
  Server server(server_options());
  Proxy proxy(proxy_endpoint(), server->endpoint());
  RemoteRunnerOptions options = client_options(proxy.endpoint());
  std::string lines;
  options.report = [&](const std::string& line) { lines += line + "\n"; };
  RemoteRunner runner(options);
  runner.set_task(affine_task());
  const protocol::MeasureReply reply = with_fault(runner, folder / "lock", [&] { proxy.cut(); });
  EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE) << reply.reason();
  EXPECT_LE(reply.seconds_size(), kManySamples) << "one measurement's samples, not two's";
  EXPECT_EQ(runner.reconnections(), 1);
  EXPECT_EQ(server->sessions(), 2);
  EXPECT_THAT(lines, HasSubstr("is lost: the other side closed the connection"));
  EXPECT_THAT(lines, HasSubstr("connected to unix:"));
  expect_right(runner);
  proxy.cut();  // while nothing is asked
  expect_right(runner);
}

TEST_F(Remote, AHalfOpenConnectionIsNoticedByBothSides) {
  RunnerServerOptions options = server_options();
  options.link.heartbeat_seconds = 0.05;
  options.link.silence_seconds = 1;
  Server server(options);
  Proxy proxy(proxy_endpoint(), server->endpoint());
  RemoteRunnerOptions mine = client_options(proxy.endpoint());
  mine.link = options.link;
  RemoteRunner runner(mine);
  runner.set_task(affine_task());
  const protocol::MeasureReply reply = with_fault(runner, folder / "lock", [&] { proxy.stall(); });
  EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE) << reply.reason();
  EXPECT_EQ(runner.reconnections(), 1);
  proxy.stall();
  server.wait_for_line("nothing was heard from the other side");
}

TEST_F(Remote, TheTunerComesBackBeforeTheRunnerHasNoticed) {
  RunnerServerOptions options = server_options();
  options.link.silence_seconds = 1000;  // the runner believes in the dead connection
  Server server(options);
  Proxy proxy(proxy_endpoint(), server->endpoint());
  RemoteRunnerOptions mine = client_options(proxy.endpoint());
  mine.link.heartbeat_seconds = 0.05;
  mine.link.silence_seconds = 5;
  RemoteRunner runner(mine);
  runner.set_task(affine_task());
  expect_right(runner);
  proxy.stall();
  expect_right(runner);
  EXPECT_EQ(runner.reconnections(), 1);
}

TEST_F(Remote, ASlowConnectionIsNoLostOne) {
  Server server(server_options());
  Proxy proxy(proxy_endpoint(), server->endpoint());
  RemoteRunner runner(client_options(proxy.endpoint()));
  protocol::SetTask task = affine_task();
  protocol::TaskInput& large = *task.add_inputs();
  large.set_name("large");
  large.set_dtype(TEMPER_F32);
  large.set_bytes(1 << 20);
  large.set_data(std::string(std::size_t{1} << 20, '\0'));
  runner.set_task(task);
  proxy.slow_down(4000);
  expect_right(runner);
  EXPECT_EQ(runner.reconnections(), 0);
  EXPECT_GT(proxy.carried(), std::size_t{1} << 20);
}

TEST_F(Remote, WhoSendsNothingOrNonsenseIsDroppedAndNobodyWaitsForIt) {
  RunnerServerOptions options = server_options();
  options.handshake_seconds = 0.3;
  Server server(options);
  const UniqueFd silent = protocol::connect_to(server->endpoint(), 10);
  const UniqueFd slow = protocol::connect_to(server->endpoint(), 10);
  protocol::send_all(slow.get(), std::string("TPRA"), protocol::Deadline(5.0));
  const UniqueFd nonsense = protocol::connect_to(server->endpoint(), 10);
  protocol::send_all(nonsense.get(), std::string(4096, 'g'), protocol::Deadline(5.0));
  protocol::Channel no_hello = stranger(server->endpoint());
  protocol::send_all(no_hello.fd(), std::string(4096, 'g'), protocol::Deadline(5.0));
  protocol::Channel no_session = stranger(server->endpoint());
  protocol::shake_hands(no_session, "tuner", 10.0);
  RemoteRunner runner(client_options(server->endpoint()));
  runner.set_task(affine_task());
  expect_right(runner);
  for (const char* line : {"does not know this token", "does not speak Temper's protocol",
                           "the client did not ask for a session", "stopped in the middle of a message"})
    server.wait_for_line(line);
  expect_right(runner);
  EXPECT_EQ(runner.reconnections(), 0);
  EXPECT_EQ(server->sessions(), 1);
}

TEST_F(Remote, ConnectionsAreBounded) {
  RunnerServerOptions options = server_options();
  options.most_connections = 3;
  Server server(options);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 3; ++i) silent.push_back(protocol::connect_to(server->endpoint(), 10));
  silent.push_back(protocol::connect_to(server->endpoint(), 10));
  server.wait_for_line("too many connections");
  silent.clear();
  RemoteRunnerOptions mine = client_options(server->endpoint());
  server.wait_for_line("refused a connection");
  std::unique_ptr<RemoteRunner> runner;
  for (int attempt = 0; attempt < 1000 && !runner; ++attempt) {
    try {
      runner = std::make_unique<RemoteRunner>(mine);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::Io) << error.what();  // the others are not gone yet
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  ASSERT_TRUE(runner);
  runner->set_task(affine_task());
  expect_right(*runner);
}

/// Sends a frame that announces `bytes`.
void announce(const protocol::Channel& channel, std::uint64_t bytes) {
  std::string frame = "TPRM" + std::string(8, '\0');
  std::memcpy(frame.data() + 4, &bytes, sizeof bytes);
  protocol::send_all(channel.fd(), frame, protocol::Deadline(5.0));
}

TEST_F(Remote, OversizedMessagesCostTheConnectionAlone) {
  Server server(server_options());
  {
    protocol::Channel early = stranger(server->endpoint());
    announce(early, 1 << 20);  // far below what a session may send
    server.wait_for_line("announces a message of 1048576 bytes; the limit is 65536");
    protocol::Channel late = stranger(server->endpoint());
    open_session(late);
    announce(late, std::uint64_t{1} << 40);
    server.wait_for_line("announces a message of 1099511627776 bytes; the limit is 1073741824");
  }
  RemoteRunner runner(client_options(server->endpoint()));
  runner.set_task(affine_task());
  expect_right(runner);
}

TEST_F(Remote, WhatIsNoRequestIsAnswered) {
  Server server(server_options());
  protocol::Channel channel = stranger(server->endpoint());
  open_session(channel);
  protocol::Envelope envelope;
  envelope.mutable_build_request()->set_id(1);
  channel.send(envelope);
  do {
    ASSERT_EQ(channel.receive(envelope, 30.0), protocol::Received::Message);
  } while (envelope.has_heartbeat());
  EXPECT_EQ(envelope.error_reply().code(), "corrupt");
}

TEST_F(Remote, AKilledWorkerIsReplaced) {
  Server server(server_options());
  RemoteRunner runner(client_options(server->endpoint()));
  runner.set_task(affine_task());
  expect_right(runner);
  const protocol::MeasureReply reply = with_fault(runner, folder / "lock", [] {
    for (const pid_t pid : children_of(getpid())) kill(pid, SIGKILL);  // the runner and its spare
  });
  EXPECT_EQ(protocol::from_message(reply.failure()), FailureKind::ResourceLimit) << reply.reason();
  EXPECT_THAT(reply.reason(), HasSubstr("killed by the system"));
  // The spare died as well: a second reply may say so, then all is well again.
  for (int i = 0; i < 3 && measure(runner, "right").failure() != protocol::FAILURE_NONE; ++i) {
  }
  expect_right(runner);
  EXPECT_EQ(runner.reconnections(), 0);
}

TEST_F(Remote, AStoppedRunnerEndsWhatRunsAndALaterOneIsFound) {
  auto server = std::make_unique<Server>(server_options());
  RemoteRunner runner(client_options((*server)->endpoint()));
  runner.set_task(affine_task());
  expect_right(runner);
  const protocol::MeasureReply reply = with_fault(runner, folder / "lock", [&] {
    server.reset();
    EXPECT_TRUE(children_of(getpid()).empty()) << "its workers are gone with it";
    server = std::make_unique<Server>(server_options());
  });
  EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE) << reply.reason();
  EXPECT_EQ(runner.reconnections(), 1);
}

TEST_F(Remote, ARunnerThatStaysAwayIsAnError) {
  auto server = std::make_unique<Server>(server_options());
  RemoteRunnerOptions options = client_options((*server)->endpoint());
  options.reconnect_seconds = 0.3;
  RemoteRunner runner(options);
  runner.set_task(affine_task());
  server.reset();
  const Error error = error_of([&] { measure(runner, "right"); });
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_THAT(error.message(), HasSubstr("stays lost"));
  EXPECT_THAT(error.hint(), HasSubstr("the same command goes on"));
}

TEST_F(Remote, ARequestThatLosesEveryConnectionIsNotMadeForever) {
  Server server(server_options());
  Proxy proxy(proxy_endpoint(), server->endpoint());
  RemoteRunner runner(client_options(proxy.endpoint()));
  runner.set_task(affine_task());
  expect_right(runner);
  std::atomic<bool> done = false;
  std::thread saboteur([&] {
    while (!done) {
      proxy.cut();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  protocol::MeasureRequest request = request_for("right");
  request.mutable_timing()->set_min_sample_seconds(0.5);
  request.mutable_timing()->set_time_limit_seconds(20);
  const Error error = error_of([&] { runner.measure(request, cancelled); });
  done = true;
  saboteur.join();
  EXPECT_EQ(error.code(), ErrorCode::Io) << error.what();
}

TEST_F(Remote, AnotherMachineBehindTheSameAddressIsNotTakenForIt) {
  auto server = std::make_unique<Server>(server_options());
  RemoteRunner runner(client_options((*server)->endpoint()));
  runner.set_task(affine_task());
  server.reset();
  RunnerServerOptions other = server_options();
  other.target = "another target";
  server = std::make_unique<Server>(other);
  const Error error = error_of([&] { measure(runner, "right"); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
}

TEST_F(Remote, AStopReachesTheRunner) {
  Server server(server_options());
  RemoteRunner runner(client_options(server->endpoint()));
  runner.set_task(affine_task());
  expect_right(runner);
  const std::vector<pid_t> workers = children_of(getpid());
  std::jthread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancelled.request();
  });
  EXPECT_EQ(error_of([&] { measure(runner, "hang", 500); }).code(), ErrorCode::Cancelled);
  server.wait_for_line("served process");
  for (const pid_t pid : workers) EXPECT_FALSE(is_alive(pid)) << "what hangs is gone";
}

TEST_F(Remote, WaitsForOthersOfItsMachineAndSaysSo) {
  Server server(server_options());
  RemoteRunner runner(client_options(server->endpoint()));
  runner.set_task(affine_task());
  TimingLock lock(folder / "lock");
  std::optional<TimingLock::Guard> held = lock.acquire(TimingLock::Mode::Build, cancelled);
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    held.reset();
  });
  const protocol::MeasureReply reply = measure(runner, "right");
  EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE);
  EXPECT_GT(reply.waited_seconds(), 0.2) << "it waited for a builder of somebody else";
}

}  // namespace
}  // namespace temper::measure
