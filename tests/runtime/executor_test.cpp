#include "temper/runtime/executor.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "runtime/sample_plans.h"
#include "temper/support/error.h"

namespace temper::runtime {
namespace {

using temper::testing::chain_plan;
using temper::testing::tensor;
using temper::testing::two_step_plan;

std::shared_ptr<const Plan> share(Plan plan) { return std::make_shared<const Plan>(std::move(plan)); }

/// 64 floats at a multiple of 64 bytes, or `shift` floats behind one.
struct Values {
  explicit Values(std::size_t shift = 0) : begin(memory.data() + shift) {}
  float& operator[](std::size_t i) { return begin[i]; }
  alignas(64) std::array<float, 80> memory{};
  float* begin;
};

class ExecutorTest : public ::testing::TestWithParam<int> {
 protected:
  ExecutorOptions options() const {
    ExecutorOptions result;
    result.threads = GetParam();
    return result;
  }
};

TEST_P(ExecutorTest, RunsStepsInOrder) {
  for (const std::size_t shift : {0, 1}) {  // aligned memory is used in place, other memory is copied
    Executor executor(share(two_step_plan()), options());
    Values x(shift), y(shift), out(shift);
    for (std::size_t i = 0; i < 64; ++i) {
      x[i] = static_cast<float>(i);
      y[i] = static_cast<float>(i * i);
    }
    for (int repeat = 0; repeat < 3; ++repeat) {
      x[0] = static_cast<float>(repeat);
      const void* inputs[] = {x.begin, y.begin};
      void* outputs[] = {out.begin};
      executor.run(inputs, outputs);
      for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(out[i], 2 * (x[63 - i] + y[63 - i])) << i;
    }
  }
}

TEST_P(ExecutorTest, RunsByName) {
  Executor executor(share(two_step_plan()), options());
  std::vector<float> x(64, 1), y(64, 2), out(64);
  executor.run({{"y", std::as_bytes(std::span(y))}, {"x", std::as_bytes(std::span(x))}},
               {{"out", std::as_writable_bytes(std::span(out))}});
  EXPECT_EQ(out, std::vector<float>(64, 6));
}

TEST_P(ExecutorTest, ReusesMemoryAlongAChain) {
  const Plan plan = chain_plan(6, false);
  EXPECT_EQ(plan.arena_bytes, 2 * 256) << "five intermediates, two alive at a time";
  Executor executor(share(plan), options());
  Values x, out;
  for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i % 3);
  const void* inputs[] = {x.begin};
  void* outputs[] = {out.begin};
  executor.run(inputs, outputs);
  for (std::size_t i = 0; i < 64; ++i) {
    float expected = x[i];
    for (int step = 0; step < 6; ++step) {
      const auto w = static_cast<float>(1 + step);
      expected = expected * (w * w) + w;
    }
    EXPECT_EQ(out[i], expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ExecutorTest, ::testing::Values(1, 2, 3));

TEST(Executor, StepsWithEqualConstantsShareOneBlob) {
  EXPECT_EQ(Executor(share(chain_plan(4, true))).blob_bytes(), 256);
  EXPECT_EQ(Executor(share(chain_plan(4, false))).blob_bytes(), 4 * 256);
}

TEST(Executor, TimesEachStepWhenAsked) {
  ExecutorOptions options;
  options.time_steps = true;
  Executor executor(share(two_step_plan()), options);
  Values x, y, out;
  const void* inputs[] = {x.begin, y.begin};
  void* outputs[] = {out.begin};
  executor.run(inputs, outputs);
  ASSERT_EQ(executor.step_seconds().size(), 2u);
  for (const double seconds : executor.step_seconds()) EXPECT_GE(seconds, 0);
  EXPECT_TRUE(Executor(share(two_step_plan())).step_seconds().empty());
}

TEST(Executor, ViewsNeedNoCopy) {
  // Two steps write the halves of one tensor; the output views the second half, a third step reads both.
  Plan plan;
  plan.tensors = {tensor("x", TensorKind::Input),          tensor("both", TensorKind::Intermediate, {2, 64}),
                  tensor("low", TensorKind::Intermediate), tensor("high", TensorKind::Output),
                  tensor("sum", TensorKind::Output),       tensor("whole", TensorKind::Output, {2, 64})};
  plan.tensors[2].view_of = plan.tensors[3].view_of = plan.tensors[5].view_of = 1;
  plan.tensors[3].view_offset = 256;
  plan.inputs = {0};
  plan.outputs = {3, 4, 5};
  const auto reverse = plan.add_artifact(Bytes::copy_of(temper::testing::artifact_bytes("two_phases")));
  const auto add = plan.add_artifact(Bytes::copy_of(temper::testing::artifact_bytes("add")));
  plan.steps = {{"first", reverse, {{0, 0}, {2, 0}, {}}},
                {"second", reverse, {{2, 0}, {1, 256}, {}}},
                {"third", add, {{2, 0}, {3, 0}, {4, 0}}}};
  plan_memory(plan);
  EXPECT_EQ(plan.arena_bytes, 512);
  Executor executor(share(plan));
  Values x, high, sum;
  alignas(64) std::array<float, 128> whole;
  for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i);
  const void* inputs[] = {x.begin};
  void* outputs[] = {high.begin, sum.begin, whole.data()};
  executor.run(inputs, outputs);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(high[i], 4 * x[i]);
    EXPECT_EQ(sum[i], 2 * x[63 - i] + 4 * x[i]);
    EXPECT_EQ(whole[i], 2 * x[63 - i]);
    EXPECT_EQ(whole[64 + i], 4 * x[i]);
  }
}

TEST(Executor, OutputsMayViewInputsAndConstants) {
  Plan plan;
  plan.tensors = {tensor("x", TensorKind::Input), tensor("c", TensorKind::Constant),
                  tensor("same", TensorKind::Output, {64}), tensor("tail", TensorKind::Output, {48})};
  plan.tensors[1].constant = plan.add_constant(temper::testing::floats(std::vector<float>(64, 5)));
  plan.tensors[2].view_of = 0;
  plan.tensors[3].view_of = 1;
  plan.tensors[3].view_offset = 64;
  plan.inputs = {0};
  plan.outputs = {2, 3};
  plan_memory(plan);
  Executor executor(share(plan));
  Values x, same, tail;
  x[17] = 4;
  const void* inputs[] = {x.begin};
  void* outputs[] = {same.begin, tail.begin};
  executor.run(inputs, outputs);
  EXPECT_EQ(same[17], 4);
  EXPECT_EQ(tail[47], 5);
  EXPECT_EQ(tail[48], 0) << "written past its end";
}

TEST(Executor, OutputsThatViewRowsAreGatheredFromThem) {
  Plan plan;
  plan.tensors = {tensor("x", TensorKind::Input), tensor("columns", TensorKind::Output, {8, 3}),
                  tensor("every", TensorKind::Output, {2, 2, 1, 2})};
  plan.tensors[1].view_of = plan.tensors[2].view_of = 0;
  plan.tensors[1].strides = {8, 1};
  plan.tensors[1].view_offset = 8;
  plan.tensors[2].strides = {32, 16, 8, 3};
  plan.inputs = {0};
  plan.outputs = {1, 2};
  plan_memory(plan);
  Executor executor(share(plan));
  Values x, columns, every;
  for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i);
  const void* inputs[] = {x.begin};
  void* outputs[] = {columns.begin, every.begin};
  executor.run(inputs, outputs);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(columns[i], static_cast<float>(i / 3 * 8 + i % 3 + 2));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(every[i], static_cast<float>(i / 4 * 32 + i / 2 % 2 * 16 + i % 2 * 3));
  EXPECT_EQ(columns[24], 0) << "written past its end";
}

void expect_refused(Plan plan, ErrorCode code, const std::string& text) {
  try {
    Executor executor(share(std::move(plan)));
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(Executor, RefusesPlansThatContradictTheirArtifacts) {
  const auto with = [](const std::function<void(Plan&)>& change) {
    Plan plan = two_step_plan();
    change(plan);
    return plan;
  };
  const auto invalid = ErrorCode::InvalidModel;
  expect_refused(with([](Plan& p) { p.steps[0].buffers.pop_back(); }), invalid, "binds 2 buffers, its artifact has 3");
  expect_refused(with([](Plan& p) { p.steps[0].buffers[0] = {}; }), invalid, "bound to no tensor");
  expect_refused(with([](Plan& p) { p.steps[1].buffers[2] = {2, 0}; }), invalid, "blobs and workspaces are not bound");
  expect_refused(with([](Plan& p) { p.steps[0].buffers[0].offset = 64; }), invalid,
                 "needs 256 bytes, its tensor has 192");
  expect_refused(with([](Plan& p) { p.steps[0].buffers[2] = {0, 0}; }), invalid, "write to an input or a constant");
  expect_refused(with([](Plan& p) { std::swap(p.steps[0], p.steps[1]); }), invalid, "no step before it has written");
  expect_refused(with([](Plan& p) { p.steps[1].buffers[1] = {2, 0}; }), invalid, "writes over what it reads");
  expect_refused(with([](Plan& p) { p.steps.pop_back(); }), invalid, "no step writes this output");
  expect_refused(with([](Plan& p) { p.artifacts[0] = Bytes::copy_of(p.artifacts[0].span().first(100)); }),
                 ErrorCode::Corrupt, "not a loadable artifact");
  expect_refused(with([](Plan& p) { p.cpu_features = {"sse2", "avx9000"}; }), ErrorCode::Unsupported, "avx9000");
  Plan chain = chain_plan(1, true);
  chain.steps[0].buffers[1] = {0, 0};
  expect_refused(chain, invalid, "its tensor is no constant");
}

TEST(Executor, RefusesWrongArguments) {
  Executor executor(share(two_step_plan()));
  EXPECT_THROW(executor.run(std::span<const void* const>{}, std::span<void* const>{}), Error);
  std::vector<float> x(64), y(64), out(64), small(63);
  const auto bytes = [](std::vector<float>& v) { return std::as_bytes(std::span(v)); };
  const auto text_of = [&](std::map<std::string, std::span<const std::byte>> inputs) -> std::string {
    try {
      executor.run(inputs, {{"out", std::as_writable_bytes(std::span(out))}});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(text_of({{"x", bytes(x)}}), "input 'y' is missing");
  EXPECT_EQ(text_of({{"x", bytes(x)}, {"y", bytes(small)}}), "input 'y' has 252 bytes instead of 256");
  EXPECT_NE(text_of({{"x", bytes(x)}, {"y", bytes(y)}, {"q", bytes(y)}}).find("no input 'q'"), std::string::npos);
  ExecutorOptions none;
  none.threads = 0;
  EXPECT_THROW(Executor(share(two_step_plan()), none), Error);
}

}  // namespace
}  // namespace temper::runtime
