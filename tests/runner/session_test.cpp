#include "temper/runner/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <span>
#include <thread>

#include "runner/fake_surroundings.h"
#include "runner/sample_task.h"
#include "temper/protocol/failure.h"
#include "temper/runner/timing.h"
#include "temper/support/error.h"

namespace temper::runner {
namespace {

using record::FailureKind;
using temper::testing::affine_task;
using temper::testing::artifact_text;
using temper::testing::request_for;

/// A session in this process: for kernels that do not fault.
class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : pair(protocol::make_socket_pair()), ours(std::move(pair.first)), theirs(std::move(pair.second)) {}

  Session& session() {
    if (!session_)
      session_ = std::make_unique<Session>(theirs, faults, clock, surroundings, SessionOptions{memory_limit, {}});
    return *session_;
  }
  FailureKind outcome(const std::string& kernel, std::string* reason = nullptr) {
    session().set_task(affine_task());
    const protocol::MeasureReply reply = session().measure(request_for(kernel));
    if (reason != nullptr) *reason = reply.reason();
    return protocol::from_message(reply.failure());
  }

  std::int64_t memory_limit = std::int64_t{1} << 30;
  protocol::SocketPair pair;
  protocol::Channel ours, theirs;
  protocol::FaultPage page;
  FaultHandler faults{page, 0};
  SystemClock clock;
  testing::FakeSurroundings surroundings;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, ChecksAndTimes) {
  ASSERT_EQ(session().set_task(affine_task()).failure(), protocol::FAILURE_NONE);
  const protocol::MeasureReply reply = session().measure(request_for("right"));
  EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE) << reply.reason();
  EXPECT_EQ(reply.id(), 17u);
  EXPECT_EQ(reply.seconds_size(), 3);
  for (const double seconds : reply.seconds()) EXPECT_GT(seconds, 0);
  EXPECT_GE(reply.number(), 1);
  EXPECT_EQ(reply.max_error(), 0);
  EXPECT_GT(reply.check_seconds(), 0);
  EXPECT_GT(reply.timing_seconds(), 0);
  EXPECT_EQ(reply.outputs_size(), 0);
}

TEST_F(SessionTest, RunsOnSeveralThreads) {
  session().set_task(affine_task());
  for (const int threads : {2, 3, 1}) {
    protocol::MeasureRequest request = request_for("right");
    request.mutable_timing()->set_threads(threads);
    EXPECT_EQ(session().measure(request).failure(), protocol::FAILURE_NONE) << threads;
    request.set_artifact(artifact_text("wrong"));
    EXPECT_EQ(session().measure(request).failure(), protocol::FAILURE_WRONG_RESULT) << threads;
  }
}

TEST_F(SessionTest, ReturnsOutputsWithoutTimingWhenAsked) {
  session().set_task(affine_task());
  protocol::MeasureRequest request = request_for("wrong");
  request.set_check(false);
  request.set_return_outputs(true);
  request.mutable_timing()->set_repeats(0);
  const protocol::MeasureReply reply = session().measure(request);
  EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE) << "nothing was to be compared";
  EXPECT_EQ(reply.seconds_size(), 0);
  ASSERT_EQ(reply.outputs_size(), 1);
  EXPECT_EQ(reply.outputs(0).name(), "y");
  ASSERT_EQ(reply.outputs(0).data().size(), 4000u);
  float at_700 = 0;
  std::memcpy(&at_700, reply.outputs(0).data().data() + 4 * 700, 4);
  EXPECT_EQ(at_700, 700.0f / 4 + 1.5f);
}

TEST_F(SessionTest, SaysWhatIsWrongWithAResult) {
  std::string reason;
  EXPECT_EQ(outcome("wrong", &reason), FailureKind::WrongResult);
  EXPECT_NE(reason.find("output 'y': element 700 is 176.5 instead of 176; 1 elements differ"), std::string::npos)
      << reason;
  EXPECT_EQ(outcome("unwritten", &reason), FailureKind::WrongResult);
  EXPECT_NE(reason.find("element 0 is"), std::string::npos) << reason;
  EXPECT_EQ(outcome("stale_workspace", &reason), FailureKind::WrongResult) << "the workspace's contents are undefined";
}

TEST_F(SessionTest, FindsDamageBesideBuffers) {
  std::string reason;
  EXPECT_EQ(outcome("write_slack", &reason), FailureKind::OutOfBounds);
  EXPECT_EQ(reason, "wrote 0 bytes behind its end, output 'y'");
  EXPECT_EQ(outcome("write_before", &reason), FailureKind::OutOfBounds);
  EXPECT_EQ(reason, "wrote 4 bytes before its start, output 'y'");
}

TEST_F(SessionTest, RefusesWhatDoesNotFitTheTask) {
  std::string reason;
  EXPECT_EQ(outcome("add", &reason), FailureKind::CompileError);
  EXPECT_EQ(reason, "input 'x' has 256 bytes, the task has 4000");
  protocol::SetTask task = affine_task();
  task.mutable_inputs(0)->set_name("other");
  session().set_task(task);
  EXPECT_EQ(session().measure(request_for("right")).reason(), "the task has no input 'x'");
  task = affine_task();
  *task.add_outputs() = task.outputs(0);
  task.mutable_outputs(1)->set_name("second");
  session().set_task(task);
  EXPECT_EQ(session().measure(request_for("right")).reason(), "it writes 1 outputs, the task has 2");
  EXPECT_EQ(session().measure(request_for("right", 2)).failure(), protocol::FAILURE_COMPILE_ERROR) << "another task";
  protocol::MeasureRequest request = request_for("right");
  request.set_artifact("nonsense");
  session().set_task(affine_task());
  EXPECT_EQ(session().measure(request).failure(), protocol::FAILURE_COMPILE_ERROR);
}

TEST_F(SessionTest, LimitsMemoryBeforeTakingIt) {
  std::string reason;
  EXPECT_EQ(outcome("huge_workspace", &reason), FailureKind::ResourceLimit);
  EXPECT_NE(reason.find("4398046511104 bytes"), std::string::npos) << reason;
  EXPECT_EQ(outcome("huge_scratch", &reason), FailureKind::ResourceLimit);
}

TEST_F(SessionTest, RefusesTasksThatContradictThemselves) {
  const auto reason_for = [&](const std::function<void(protocol::SetTask&)>& change) {
    protocol::SetTask task = affine_task();
    change(task);
    const protocol::SetTaskReply reply = session().set_task(task);
    EXPECT_NE(reply.failure(), protocol::FAILURE_NONE);
    return reply.reason();
  };
  EXPECT_EQ(reason_for([](auto& t) { t.mutable_inputs(0)->set_dtype(9); }), "no element type has the number 9");
  EXPECT_EQ(reason_for([](auto& t) { t.mutable_inputs(0)->set_bytes(4001); }),
            "4001 bytes are no whole number of elements");
  EXPECT_EQ(reason_for([](auto& t) { t.mutable_inputs(0)->set_data("abc"); }),
            "3 bytes of data are given for 4000 bytes");
  EXPECT_EQ(reason_for([](auto& t) { *t.add_inputs() = t.inputs(0); }), "the input is given twice");
  EXPECT_EQ(reason_for([](auto& t) { t.mutable_outputs(0)->set_expected("abc"); }),
            "the expected output has another size than the output");
}

TEST_F(SessionTest, GivesUpOnWhatIsTooSlow) {
  session().set_task(affine_task());
  protocol::MeasureRequest request = request_for("right");
  request.mutable_timing()->set_repeats(50);
  request.mutable_timing()->set_give_up_above_seconds(1e-12);
  EXPECT_EQ(session().measure(request).seconds_size(), 1);
  request.mutable_timing()->set_give_up_above_seconds(0);
  request.mutable_timing()->set_time_limit_seconds(1e-9);
  EXPECT_EQ(session().measure(request).seconds_size(), 1) << "one sample in any case";
  request.mutable_timing()->set_time_limit_seconds(60);
  EXPECT_EQ(session().measure(request).seconds_size(), 50);
}

TEST_F(SessionTest, TimesColdCallsAsOftenAsIsAsked) {
  session().set_task(affine_task());
  protocol::MeasureRequest request = request_for("right");
  request.mutable_timing()->set_cold(true);
  request.mutable_timing()->set_number(3);
  const protocol::MeasureReply reply = session().measure(request);
  EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE) << reply.reason();
  EXPECT_EQ(reply.number(), 3);
  EXPECT_EQ(reply.seconds_size(), 3);
}

TEST(TimedKernel, HasColdConstantsWhereTheTaskWantsItAndThereAreSome) {
  runtime::ThreadPool pool(1, {});
  for (const bool wanted : {false, true}) {
    protocol::SetTask message = affine_task();
    message.set_cold_constants(wanted);
    protocol::TaskInput w = message.inputs(0);
    w.set_name("w");
    *message.add_inputs() = w;
    TaskData task = make_task_data(message);
    const runtime::ArtifactImage without = runtime::ArtifactImage::load(temper::testing::artifact_bytes("right"));
    EXPECT_FALSE(TimedKernel(without, task, pool).has_cold_constants());
    const runtime::ArtifactImage image =
        runtime::ArtifactImage::load(temper::testing::artifact_bytes("scale_prepared"));
    TimedKernel kernel(image, task, pool);
    EXPECT_EQ(kernel.has_cold_constants(), wanted);
    kernel.evict(TimedKernel::What::Constants);
    kernel.call();
    const std::span<const std::byte> bytes = kernel.memory(3);
    float last = 0;
    std::memcpy(&last, bytes.data() + bytes.size() - sizeof last, sizeof last);
    const float x = 63.0F / 8;
    EXPECT_EQ(last, x * (x * x) + x) << "evicting changes no data";
  }
}

TEST(TimedKernel, FindsNoOutputsOfTheOneBefore) {
  runtime::ThreadPool pool(1, {});
  TaskData task = make_task_data(affine_task());
  const runtime::ArtifactImage image = runtime::ArtifactImage::load(temper::testing::artifact_bytes("right"));
  TimedKernel first(image, task, pool);
  first.call();
  const std::span<const std::byte> bytes = first.memory(1);
  const std::vector<std::byte> right(bytes.begin(), bytes.end());
  const TimedKernel second(image, task, pool);
  ASSERT_EQ(second.memory(1).data(), bytes.data()) << "all are timed on the same memory";
  EXPECT_FALSE(std::ranges::equal(second.memory(1), right));
}

TEST(TimedKernel, PreparesAgainWhatAnotherOverwrote) {
  runtime::ThreadPool pool(1, {});
  protocol::SetTask message = affine_task();
  protocol::TaskInput w = message.inputs(0);
  w.set_name("w");
  *message.add_inputs() = w;
  TaskData task = make_task_data(message);
  const runtime::ArtifactImage scale = runtime::ArtifactImage::load(temper::testing::artifact_bytes("scale_prepared")),
                               phases = runtime::ArtifactImage::load(temper::testing::artifact_bytes("two_phases"));
  TimedKernel first(scale, task, pool);
  const std::byte* prepared = first.memory(2).data();
  TimedKernel second(phases, task, pool);
  EXPECT_EQ(second.memory(2).data(), prepared) << "all prepare in the same memory";
  second.call();
  first.take_turn();
  EXPECT_EQ(first.memory(2).data(), prepared);
  first.call();
  const std::span<const std::byte> bytes = first.memory(3);
  float last = 0;
  std::memcpy(&last, bytes.data() + bytes.size() - sizeof last, sizeof last);
  const float x = 63.0F / 8;
  EXPECT_EQ(last, x * (x * x) + x);
}

TEST_F(SessionTest, TakesTheGivenNumber) {
  session().set_task(affine_task());
  protocol::MeasureRequest request = request_for("right");
  request.mutable_timing()->set_number(7);
  EXPECT_EQ(session().measure(request).number(), 7);
}

protocol::RaceRequest race_request(const std::vector<std::string>& kernels, int repeats, int retakes) {
  protocol::RaceRequest request;
  request.set_id(3);
  request.set_task(1);
  request.set_seed(5);
  for (const std::string& kernel : kernels) request.add_artifacts(artifact_text(kernel));
  *request.mutable_timing() = request_for(kernels.front()).timing();
  request.mutable_timing()->set_repeats(repeats);
  request.mutable_timing()->set_retakes(retakes);
  return request;
}

TEST_F(SessionTest, RacesInTurn) {
  session().set_task(affine_task());
  protocol::RaceRequest request = race_request({"right", "wrong"}, 4, request_for("right").timing().retakes());
  const protocol::RaceReply reply = session().race(request);
  EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE) << reply.reason();
  ASSERT_EQ(reply.racers_size(), 2);
  for (const auto& racer : reply.racers()) EXPECT_EQ(racer.seconds_size(), 4);
  request.add_artifacts("nonsense");
  EXPECT_EQ(session().race(request).failure(), protocol::FAILURE_COMPILE_ERROR);
}

TEST_F(SessionTest, RacesTakeAgainWhatLaterSamplesShowToBeDisturbed) {
  session().set_task(affine_task());
  const protocol::RaceRequest request = race_request({"right", "right"}, 3, 4);
  // The clock becomes faster in the last round: the samples before it do not count any more.
  int probes = 0;
  surroundings.probe_seconds = [&] { return ++probes < 9 ? 2e-6 : 1e-6; };
  const protocol::RaceReply reply = session().race(request);
  EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE) << reply.reason();
  for (const auto& racer : reply.racers()) EXPECT_EQ(racer.seconds_size(), 3);
  EXPECT_GT(reply.disturbed().clock(), 0);
}

TEST_F(SessionTest, RacesEndWhereTheClockStaysSlow) {
  session().set_task(affine_task());
  const protocol::RaceRequest request = race_request({"right"}, 3, 2);
  // Fast while the first sample is taken, then slow for good: after a while that is normal, but no sample beside the
  // first.
  int probes = 0;
  surroundings.probe_seconds = [&] { return ++probes < 4 ? 1e-6 : 2e-6; };
  const protocol::RaceReply reply = session().race(request);
  ASSERT_EQ(reply.racers_size(), 1) << reply.reason();
  EXPECT_LE(reply.racers(0).seconds_size() + reply.disturbed().clock(), 3 * 3 + 2) << "three each, two at the end";
}

TEST_F(SessionTest, AnswersUntilTheChannelEnds) {
  std::thread server([&] {
    Session served(theirs, faults, clock, surroundings, {});
    served.serve();
  });
  protocol::Envelope envelope;
  *envelope.mutable_set_task() = affine_task(5);
  ours.send(envelope);
  ASSERT_EQ(ours.receive(envelope, 10.0), protocol::Received::Message);
  EXPECT_EQ(envelope.set_task_reply().task(), 5u);
  *envelope.mutable_measure_request() = request_for("right", 5);
  ours.send(envelope);
  ASSERT_EQ(ours.receive(envelope, 10.0), protocol::Received::Message);
  EXPECT_EQ(envelope.measure_reply().failure(), protocol::FAILURE_NONE);
  {
    const protocol::Channel gone = std::move(ours);
  }
  server.join();
}

TEST(Fill, GivesTheSameNumbersForTheSameSeed) {
  protocol::Fill rule;
  rule.set_seed(3);
  rule.set_low(-2);
  rule.set_high(2);
  std::array<float, 100> first, second;
  fill(rule, TEMPER_F32, std::as_writable_bytes(std::span(first)));
  fill(rule, TEMPER_F32, std::as_writable_bytes(std::span(second)));
  EXPECT_EQ(first, second);
  EXPECT_GT(std::set<float>(first.begin(), first.end()).size(), 90u);
  for (const float value : first) EXPECT_LE(std::fabs(value), 2);
  rule.set_seed(4);
  fill(rule, TEMPER_F32, std::as_writable_bytes(std::span(second)));
  EXPECT_NE(first, second);
  std::array<std::int8_t, 200> integers;
  fill(rule, TEMPER_I8, std::as_writable_bytes(std::span(integers)));
  EXPECT_EQ(std::set<std::int8_t>(integers.begin(), integers.end()), (std::set<std::int8_t>{-2, -1, 0, 1}));
  std::array<std::uint8_t, 100> flags;
  fill(rule, TEMPER_BOOL, std::as_writable_bytes(std::span(flags)));
  EXPECT_EQ(std::set<std::uint8_t>(flags.begin(), flags.end()), (std::set<std::uint8_t>{0, 1}));
}

}  // namespace
}  // namespace temper::runner
