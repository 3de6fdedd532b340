// The shipped builder and runner, on generated code.
#include "temper/measure/compile_function.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "measure/fixtures.h"
#include "paths.h"
#include "temper/ir/compute.h"
#include "temper/ir/oracle.h"
#include "temper/protocol/failure.h"
#include "temper/target/cpu.h"

namespace temper::measure {
namespace {

using record::FailureKind;
using namespace temper::testing;

constexpr int kRows = 13, kColumns = 40, kDepth = 9;

/// C[m,n] = sum(k) A[m,k] * B[k,n], B constant.
ir::Compute matmul() {
  const ir::Tensor a = ir::placeholder("A", {kRows, kDepth}), b = ir::constant("B", {kDepth, kColumns});
  return ir::make_compute({ir::define("C", {kRows, kColumns},
                                      [&](ir::Axis m, ir::Axis n) {
                                        const ir::Axis k = ir::reduce("k", kDepth);
                                        return ir::sum(a(m, k) * b(k, n), {k});
                                      },
                                      {"m", "n"})});
}

/// The task of that definition, with the oracle's values expected.
protocol::SetTask matmul_task() {
  std::vector<float> a, b;
  for (int i = 0; i < kRows * kDepth; ++i) a.push_back(static_cast<float>(i % 7 - 3) / 4);
  for (int i = 0; i < kDepth * kColumns; ++i) b.push_back(static_cast<float>(i % 5 - 2) / 2);
  const ir::Compute compute = matmul();
  const ir::Inputs inputs{{"A", std::as_bytes(std::span(a))}, {"B", std::as_bytes(std::span(b))}};
  ir::Oracle oracle(compute, inputs);
  std::vector<float> c;
  for (const double value : oracle.all(*compute.outputs[0])) c.push_back(static_cast<float>(value));

  protocol::SetTask task;
  for (const auto& [name, values] : {std::pair{"A", &a}, std::pair{"B", &b}}) {
    protocol::TaskInput& input = *task.add_inputs();
    input.set_name(name);
    input.set_dtype(TEMPER_F32);
    input.set_data(text_of(*values));
    input.set_bytes(static_cast<std::int64_t>(input.data().size()));
  }
  protocol::TaskOutput& output = *task.add_outputs();
  output.set_name("C");
  output.set_dtype(TEMPER_F32);
  output.set_expected(text_of(c));
  output.set_bytes(static_cast<std::int64_t>(output.expected().size()));
  output.set_absolute_tolerance(1e-5);
  return task;
}

TEST(CompileFunction, BuildsRunsAndTimesGeneratedCode) {
  const TemporaryFolder folder;
  const SystemClock clock;
  MeasureOptions options = test_options(folder);
  options.builder = paths::programs() + "/temper-builder";
  options.builder_memory_limit = kLimitsAddressSpace ? std::int64_t{8} << 30 : 0;
  options.builders = 1;
  options.build.set_keep_ir(true);
  Measurer measurer(target::serialise(target::detect()), options, clock);
  measurer.set_task(matmul_task());
  const std::string compute = ir::print(matmul());
  const std::vector<MeasureInput> batch{{compute, ""},
                                        {compute, "split C n 2x16 mask\nvectorize C n.1\nparallel C m\n"},
                                        {compute, "vectorize C nothing\n"},
                                        {compute, "no_such_primitive C\n"},
                                        {"no compute at all", ""}};
  const auto results = measurer.measure(batch, {});
  ASSERT_TRUE(results[0].measurement.ok()) << results[0].measurement.reason;
  EXPECT_GT(results[0].measurement.min_seconds, 0);
  EXPECT_TRUE(results[1].measurement.ok()) << results[1].measurement.reason;
  for (const char* step : {"nest", "lower", "codegen"}) EXPECT_TRUE(results[0].build_steps.contains(step)) << step;
  EXPECT_NE(results[2].measurement.failure, FailureKind::None);
  EXPECT_EQ(results[2].measurement.failure, FailureKind::InvalidSchedule) << results[2].measurement.reason;
  EXPECT_EQ(results[3].measurement.failure, FailureKind::InvalidSchedule) << results[3].measurement.reason;
  EXPECT_EQ(results[4].measurement.failure, FailureKind::InvalidSchedule) << results[4].measurement.reason;
}

class CompileFunctionTest : public ::testing::Test {
 protected:
  protocol::BuildRequest request() {
    protocol::BuildRequest result;
    result.set_compute(ir::print(matmul()));
    result.set_target(target::serialise(target::detect()));
    return result;
  }
  BuildFunction build = make_compile_function();
};

TEST_F(CompileFunctionTest, EqualRequestsGiveEqualBytes) {
  const protocol::BuildReply first = build(request()), second = make_compile_function()(request());
  ASSERT_EQ(first.failure(), protocol::FAILURE_NONE) << first.reason();
  EXPECT_EQ(first.artifact(), second.artifact());
  EXPECT_FALSE(first.artifact().empty());
  EXPECT_TRUE(first.ir().empty()) << "nobody asked for it";
}

TEST_F(CompileFunctionTest, ReturnsTextsWhenAsked) {
  protocol::BuildRequest asked = request();
  asked.mutable_options()->set_keep_ir(true);
  asked.mutable_options()->set_keep_assembly(true);
  const protocol::BuildReply reply = build(asked);
  EXPECT_NE(reply.ir().find("define"), std::string::npos);
  EXPECT_FALSE(reply.assembly().empty());
}

TEST_F(CompileFunctionTest, OptionsAreByNameAndChecked) {
  protocol::BuildRequest asked = request();
  (*asked.mutable_options()->mutable_other())["max_bodies"] = "0";
  EXPECT_EQ(build(asked).failure(), protocol::FAILURE_INVALID_SCHEDULE) << "no body is allowed";
  (*asked.mutable_options()->mutable_other())["max_bodies"] = "many";
  EXPECT_NE(build(asked).reason().find("takes a number"), std::string::npos);
  asked.mutable_options()->clear_other();
  (*asked.mutable_options()->mutable_other())["speed"] = "1";
  EXPECT_NE(build(asked).reason().find("no build option 'speed'"), std::string::npos);
}

TEST_F(CompileFunctionTest, CompilesForTheTargetOfEachRequest) {
  const target::Target here = target::detect();
  protocol::BuildRequest narrow = request();
  narrow.set_target(target::serialise(target::limit_vector_bytes(here, 32)));
  EXPECT_EQ(build(narrow).failure(), protocol::FAILURE_NONE);
  narrow.set_target("no target");
  EXPECT_NE(build(narrow).failure(), protocol::FAILURE_NONE);
  EXPECT_EQ(build(request()).failure(), protocol::FAILURE_NONE);
}

}  // namespace
}  // namespace temper::measure
