#include "temper/measure/runner_client.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "measure/fixtures.h"
#include "support/process_list.h"
#include "temper/protocol/failure.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

using record::FailureKind;
using namespace temper::testing;

class RunnerClientTest : public ::testing::Test {
 protected:
  protocol::MeasureReply measure(const std::string& kernel, double limit = 20) {
    protocol::MeasureRequest request = request_for(kernel);
    request.mutable_timing()->set_time_limit_seconds(limit);
    return client.measure(request, cancelled);
  }
  void expect(const std::string& kernel, FailureKind kind, const std::string& text, double limit = 20) {
    const protocol::MeasureReply reply = measure(kernel, limit);
    EXPECT_EQ(protocol::from_message(reply.failure()), kind) << kernel << ": " << reply.reason();
    EXPECT_NE(reply.reason().find(text), std::string::npos) << kernel << ": " << reply.reason();
    EXPECT_EQ(reply.id(), 17u);
    EXPECT_EQ(reply.seconds_size(), 0);
  }
  void SetUp() override { client.set_task(affine_task()); }

  Spawner spawner;
  RunnerClient client{spawner, {{real_runner(), kRunnerMemory, {}}, 60}};
  CancellationToken cancelled;
};

TEST_F(RunnerClientTest, KeepsItsRunnerWhileAllGoesWell) {
  const pid_t pid = client.pid();
  for (int i = 0; i < 3; ++i) {
    const protocol::MeasureReply reply = measure("right");
    EXPECT_EQ(reply.failure(), protocol::FAILURE_NONE) << reply.reason();
    EXPECT_EQ(reply.seconds_size(), 3);
  }
  EXPECT_EQ(client.pid(), pid);
  protocol::MeasureRequest request = request_for("right");
  request.set_artifact("nonsense");
  EXPECT_EQ(client.measure(request, cancelled).failure(), protocol::FAILURE_COMPILE_ERROR);
  EXPECT_EQ(client.pid(), pid) << "a compile error never ran";
  EXPECT_EQ(client.replacements(), 0);
}

TEST_F(RunnerClientTest, TellsFaultsApart) {
  expect("segfault", FailureKind::Crash, "SIGSEGV at address 0x8");
  expect("illegal", FailureKind::Crash, "SIGILL");
  expect("abort", FailureKind::Crash, "SIGABRT");
  expect("exit", FailureKind::Crash, "ended by itself with exit code 3");
  expect("write_past", FailureKind::OutOfBounds, "accessed memory behind output 'y'");
  expect("write_far", FailureKind::OutOfBounds, "accessed memory behind output 'y'");
  expect("read_past", FailureKind::OutOfBounds, "accessed memory behind input 'x'");
  expect("write_input", FailureKind::OutOfBounds, "wrote to input 'x'");
  expect("write_slack", FailureKind::OutOfBounds, "behind its end");
  expect("write_before", FailureKind::OutOfBounds, "before its start");
  expect("wrong", FailureKind::WrongResult, "element 700");
  expect("huge_workspace", FailureKind::ResourceLimit, "the limit is");
  expect("deep_stack", FailureKind::ResourceLimit, "overran its stack");
  expect("hang", FailureKind::RunTimeout, "took longer than 0.05", 0.05);
  EXPECT_EQ(client.replacements(), 14);
  EXPECT_EQ(measure("right").failure(), protocol::FAILURE_NONE) << "and it goes on";
}

TEST_F(RunnerClientTest, TellsMemoryExhaustion) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << "sanitizers need more address space than a limit could allow";
  expect("eat_memory", FailureKind::ResourceLimit, "memory limit");
}

TEST_F(RunnerClientTest, FaultsOfOtherThreadsAreTheSame) {
  for (const auto& [kernel, kind] :
       {std::pair{"write_past", FailureKind::OutOfBounds}, std::pair{"segfault", FailureKind::Crash},
        std::pair{"deep_stack", FailureKind::ResourceLimit}}) {
    protocol::MeasureRequest request = request_for(kernel);
    request.mutable_timing()->set_threads(2);
    const protocol::MeasureReply reply = client.measure(request, cancelled);
    EXPECT_EQ(protocol::from_message(reply.failure()), kind) << kernel << ": " << reply.reason();
  }
}

TEST_F(RunnerClientTest, SurvivesARunnerThatIsKilledFromOutside) {
  ASSERT_EQ(measure("right").failure(), protocol::FAILURE_NONE);
  ASSERT_EQ(kill(client.pid(), SIGKILL), 0);
  expect("right", FailureKind::ResourceLimit, "killed by the system");
  EXPECT_EQ(measure("right").failure(), protocol::FAILURE_NONE);
}

TEST_F(RunnerClientTest, ASpareThatIsKilledIsReplacedToo) {
  ASSERT_EQ(measure("right").failure(), protocol::FAILURE_NONE);
  for (const pid_t pid : children_of(getpid())) ASSERT_EQ(kill(pid, SIGKILL), 0);
  expect("right", FailureKind::ResourceLimit, "killed by the system");
  EXPECT_EQ(measure("right").failure(), protocol::FAILURE_NONE);
}

TEST_F(RunnerClientTest, TimesThatOthersDisturbCostNoRunner) {
  protocol::MeasureRequest request = request_for("right");
  request.mutable_timing()->set_best_probe_seconds(1e-12);  // no clock is as fast
  request.mutable_timing()->set_retakes(0);  // what stays slow for two seconds would be how the machine is now
  const protocol::MeasureReply reply = client.measure(request, cancelled);
  EXPECT_EQ(protocol::from_message(reply.failure()), FailureKind::Unstable) << reply.reason();
  EXPECT_NE(reply.reason().find("the processor's clock was slower"), std::string::npos) << reply.reason();
  EXPECT_EQ(client.replacements(), 0);
}

TEST_F(RunnerClientTest, SendsANewTaskBeforeTheNextRequest) {
  protocol::SetTask task = affine_task();
  task.mutable_outputs(0)->set_absolute_tolerance(10);
  client.set_task(task);
  EXPECT_EQ(measure("wrong").failure(), protocol::FAILURE_NONE) << "within the tolerance";
  task.mutable_inputs(0)->set_data("short");
  client.set_task(task);
  try {
    measure("right");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(error.message().find("5 bytes of data"), std::string::npos) << error.what();
  }
}

TEST_F(RunnerClientTest, StopsOnRequest) {
  std::jthread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancelled.request();
  });
  try {
    measure("hang", 1000);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  }
}

TEST_F(RunnerClientTest, Races) {
  protocol::RaceRequest request;
  request.set_id(4);
  request.set_task(1);
  request.add_artifacts(artifact_text("right"));
  request.add_artifacts(artifact_text("right"));
  *request.mutable_timing() = request_for("right").timing();
  const protocol::RaceReply reply = client.race(request, cancelled);
  ASSERT_EQ(reply.racers_size(), 2) << reply.reason();
  EXPECT_EQ(reply.racers(0).seconds_size(), 3) << "what turns out to be disturbed is taken again";
  EXPECT_EQ(reply.racers(1).seconds_size(), 3);
  *request.mutable_artifacts(1) = artifact_text("segfault");
  EXPECT_EQ(client.race(request, cancelled).failure(), protocol::FAILURE_CRASH);
}

TEST(RunnerClient, SaysWhyNoRunnerStarts) {
  Spawner spawner;
  try {
    RunnerClient client(spawner, {{"/nowhere/temper-runner", 0, {}}, 5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_EQ(error.where(), "/nowhere/temper-runner");
  }
  RunnerClient client(spawner, {{"/bin/false", 0, {}}, 60});
  try {
    client.measure(request_for("right"), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    EXPECT_NE(error.message().find("exit code 1"), std::string::npos) << error.what();
  }
  EXPECT_THROW(find_program("temper-nothing"), Error);
}

TEST(Workers, DieWithTheTuner) {
  FILE* parent = popen(("exec " + std::string(TEMPER_TEST_PROGRAMS) + "/orphan_parent " + fake_builder() + " " +
                        real_runner() + " & echo $!; wait")
                           .c_str(),
                       "r");
  ASSERT_NE(parent, nullptr);
  int tuner = 0, runner = 0, builder = 0;
  ASSERT_EQ(fscanf(parent, "%d %d %d", &tuner, &runner, &builder), 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // well into the kernel that hangs
  EXPECT_TRUE(is_alive(tuner) && is_alive(runner) && is_alive(builder));
  ASSERT_EQ(kill(tuner, SIGKILL), 0);
  for (int i = 0; i < 500 && (is_alive(runner) || is_alive(builder)); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(is_alive(runner));
  EXPECT_FALSE(is_alive(builder));
  pclose(parent);
}

}  // namespace
}  // namespace temper::measure
