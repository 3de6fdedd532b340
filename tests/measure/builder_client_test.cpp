#include "temper/measure/builder_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "measure/fixtures.h"
#include "temper/protocol/failure.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

using record::FailureKind;
using namespace temper::testing;

std::vector<protocol::BuildRequest> requests_for(const std::vector<std::string>& traces) {
  std::vector<protocol::BuildRequest> requests;
  for (const std::string& trace : traces) {
    requests.emplace_back().set_trace(trace);
    requests.back().set_compute("compute");
    requests.back().set_target("target");
  }
  return requests;
}

class BuilderClientTest : public ::testing::TestWithParam<int> {
 protected:
  BuilderClient client(double limit) {
    BuilderOptions options;
    options.command = {fake_builder(), std::int64_t{1} << 40, {}};
    options.count = GetParam();
    options.build_limit_seconds = limit;
    options.start_limit_seconds = 60;
    return BuilderClient(spawner, options);
  }
  Spawner spawner;
};

TEST_P(BuilderClientTest, AnswersEveryRequestInOrder) {
  struct Case {
    const char* trace;
    FailureKind kind;
    const char* text;
  };
  const std::vector<Case> cases{{"artifact right", FailureKind::None, ""},
                                {"crash", FailureKind::CompileError, "died by SIGSEGV"},
                                {"throw", FailureKind::CompileError, "no such thing"},
                                {"abort", FailureKind::CompileError, "died by SIGABRT: LLVM ERROR: cannot select"},
                                {"artifact add", FailureKind::None, ""},
                                {"refuse", FailureKind::InvalidSchedule, "loop k is no loop"},
                                {"exit", FailureKind::CompileError, "ended by itself with exit code 7"},
                                {"eat_memory", FailureKind::ResourceLimit, "no memory"},
                                {"nonsense", FailureKind::CompileError, "sends nonsense"},
                                {"artifact wrong", FailureKind::None, ""}};
  std::vector<std::string> traces;
  for (const Case& c : cases) traces.emplace_back(c.trace);
  std::multiset<std::size_t> done;
  BuilderClient builders = client(30);
  for (int batch = 0; batch < 2; ++batch) {
    const auto replies =
        builders.build(requests_for(traces), {}, [&](std::size_t index, const auto&) { done.insert(index); });
    ASSERT_EQ(replies.size(), cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      EXPECT_EQ(protocol::from_message(replies[i].failure()), cases[i].kind)
          << cases[i].trace << ": " << replies[i].reason();
      EXPECT_NE(replies[i].reason().find(cases[i].text), std::string::npos) << replies[i].reason();
      EXPECT_EQ(replies[i].artifact().empty(), cases[i].kind != FailureKind::None);
      EXPECT_NE(replies[i].id(), 0u);
    }
    EXPECT_EQ(replies[4].artifact(), artifact_text("add"));
    EXPECT_EQ(replies[4].ir(), "compute/target");
    ASSERT_EQ(replies[4].steps_size(), 1);
    EXPECT_EQ(replies[4].steps(0).step(), "copy");
  }
  EXPECT_EQ(done.size(), 2 * cases.size());
}

TEST_P(BuilderClientTest, EndsWhatTakesTooLong) {
  BuilderClient builders = client(0.2);
  const auto replies = builders.build(requests_for({"hang", "hang"}), {});
  for (const auto& reply : replies) {
    EXPECT_EQ(protocol::from_message(reply.failure()), FailureKind::CompileTimeout) << reply.reason();
    EXPECT_GE(reply.seconds(), 0.2);
  }
  BuilderClient patient = client(30);
  EXPECT_EQ(patient.build(requests_for({"artifact right"}), {})[0].failure(), protocol::FAILURE_NONE);
}

TEST_P(BuilderClientTest, StopsOnRequestAndKeepsWhatIsDone) {
  const CancellationToken cancelled;
  BuilderClient builders = client(1000);
  std::vector<std::string> traces(8, "hang");
  traces[0] = "artifact right";
  const auto replies =
      builders.build(requests_for(traces), cancelled, [&](std::size_t, const auto&) { cancelled.request(); });
  EXPECT_EQ(replies[0].artifact(), artifact_text("right"));
  for (std::size_t i = 1; i < replies.size(); ++i) EXPECT_EQ(replies[i].id(), 0u);
  EXPECT_EQ(builders.build(requests_for({"artifact add"}), {})[0].failure(), protocol::FAILURE_NONE)
      << "and it can go on";
}

INSTANTIATE_TEST_SUITE_P(Builders, BuilderClientTest, ::testing::Values(1, 3));

TEST(BuilderClient, NothingToBuildIsBuiltAtOnce) {
  Spawner spawner;
  BuilderOptions options;
  options.command = {fake_builder(), 0, {}};
  BuilderClient builders(spawner, options);
  EXPECT_TRUE(builders.build({}, {}).empty());
}

}  // namespace
}  // namespace temper::measure
