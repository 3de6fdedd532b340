#include "temper/runtime/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>

#include "runtime/sample_plans.h"
#include "temper/support/error.h"

namespace temper::runtime {
namespace {

using temper::testing::chain_plan;
using temper::testing::tensor;
using temper::testing::two_step_plan;

TEST(Plan, SharesEqualBytes) {
  Plan plan;
  EXPECT_EQ(plan.add_constant(temper::testing::floats({1, 2})), 0);
  EXPECT_EQ(plan.add_constant(temper::testing::floats({1, 3})), 1);
  EXPECT_EQ(plan.add_constant(temper::testing::floats({1, 2})), 0);
  EXPECT_EQ(plan.constants.size(), 2u);
}

TEST(Plan, FollowsViewsToTheirEnd) {
  Plan plan;
  plan.tensors = {tensor("a", TensorKind::Intermediate, {64}), tensor("b", TensorKind::Intermediate, {48}),
                  tensor("c", TensorKind::Intermediate, {16})};
  plan.tensors[1].view_of = 0;
  plan.tensors[1].view_offset = 64;
  plan.tensors[2].view_of = 1;
  plan.tensors[2].view_offset = 128;
  EXPECT_EQ(storage_of(plan, 2).tensor, 0);
  EXPECT_EQ(storage_of(plan, 2).offset, 192);
}

TEST(Plan, KeepsWhatAnOutputViewsUntilTheEnd) {
  Plan plan = chain_plan(4, true);
  // A second output that views the first intermediate, which would die after step 1.
  plan.tensors.push_back(tensor("kept", TensorKind::Output));
  plan.tensors.back().view_of = 2;
  plan.outputs.push_back(static_cast<std::int32_t>(plan.tensors.size() - 1));
  plan_memory(plan);
  EXPECT_EQ(plan.arena_bytes, 3 * 256);
  validate(plan);
}

/// A plan of random steps, each reading up to two earlier tensors and writing a new one, sizes up to 2000 bytes.
Plan random_plan() {
  Plan plan;
  const int count = *rc::gen::inRange(1, 30);
  plan.artifacts.resize(1);
  for (int i = 0; i < count; ++i) {
    PlanTensor t = tensor("t" + std::to_string(i), TensorKind::Intermediate, {*rc::gen::inRange(0, 500)});
    Step step{"s" + std::to_string(i), 0, {{i, 0}}};
    for (int read = 0; i > 0 && read < 2; ++read) step.buffers.push_back({*rc::gen::inRange(0, i), 0});
    plan.tensors.push_back(std::move(t));
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

TEST(PlanMemory, NeverOverlapsWhatIsAliveTogether) {
  EXPECT_TRUE(rc::check("random plans validate and reuse memory", [] {
    Plan plan = random_plan();
    plan_memory(plan);
    validate(plan);
    std::int64_t sum = 0;
    for (const PlanTensor& t : plan.tensors) sum += align_up(t.bytes);
    RC_ASSERT(plan.arena_bytes <= sum);
  }));
}

TEST(PlanMemory, ValidationSeesOverlaps) {
  // Moving any placed tensor onto one that is alive at the same step must be noticed.
  Plan plan = chain_plan(3, true);
  plan.tensors[4].arena_offset = plan.tensors[2].arena_offset;
  EXPECT_THROW(validate(plan), Error);
}

TEST(Plan, ValidationNamesTheCulprit) {
  struct Case {
    const char* text;
    std::function<void(Plan&)> change;
  };
  const std::vector<Case> cases{
      {"its shape needs 256 bytes, it has 255", [](Plan& p) { p.tensors[2].bytes = 255; }},
      {"impossible shape", [](Plan& p) { p.tensors[2].shape = {-1}; }},
      {"impossible shape", [](Plan& p) { p.tensors[2].shape = {INT64_MAX, 2}; }},
      {"unknown element type", [](Plan& p) { p.tensors[2].dtype = static_cast<temper_dtype>(7); }},
      {"outside of the arena", [](Plan& p) { p.tensors[2].arena_offset = 64; }},
      {"outside of the arena", [](Plan& p) { p.tensors[2].arena_offset = kNone; }},
      {"not aligned", [](Plan& p) { p.tensors[2].arena_offset = 4, p.arena_bytes = 1024; }},
      {"names no constant", [](Plan& p) { p.tensors[2].kind = TensorKind::Constant; }},
      {"views no tensor", [](Plan& p) { p.tensors[2].view_of = 17; }},
      {"in a circle", [](Plan& p) { p.tensors[2].view_of = 2; }},
      {"views memory outside", [](Plan& p) { p.tensors[2].view_of = 0, p.tensors[2].view_offset = 64; }},
      {"view is not aligned",
       [](Plan& p) {
         p.tensors[2].view_of = 0, p.tensors[2].view_offset = 2, p.tensors[2].bytes = 64, p.tensors[2].shape = {};
       }},
      {"only a view has gaps", [](Plan& p) { p.tensors[2].strides = {8, 1}; }},
      {"not as many strides", [](Plan& p) { p.tensors[2].view_of = 3, p.tensors[2].strides = {1}; }},
      {"impossible strides", [](Plan& p) { p.tensors[2].view_of = 3, p.tensors[2].strides = {7, 1}; }},
      {"impossible strides", [](Plan& p) { p.tensors[2].view_of = 3, p.tensors[2].strides = {INT64_MAX / 4, 1}; }},
      {"its shape needs 284 bytes, it has 256",
       [](Plan& p) { p.tensors[2].view_of = 3, p.tensors[2].strides = {9, 1}; }},
      {"views memory outside",
       [](Plan& p) { p.tensors[2].view_of = 3, p.tensors[2].strides = {9, 1}, p.tensors[2].bytes = 284; }},
      {"an input cannot be a view", [](Plan& p) { p.tensors[0].view_of = 1; }},
      {"there is no tensor for an input", [](Plan& p) { p.inputs[0] = 9; }},
      {"of another kind", [](Plan& p) { p.inputs[0] = 2; }},
      {"listed twice", [](Plan& p) { p.inputs[1] = 0; }},
      {"listed twice", [](Plan& p) { p.tensors[1].name = "x"; }},
      {"but not listed", [](Plan& p) { p.inputs.pop_back(); }},
      {"names no artifact", [](Plan& p) { p.steps[1].artifact = 2; }},
      {"names no tensor", [](Plan& p) { p.steps[1].buffers[0].tensor = 40; }},
      {"starts outside", [](Plan& p) { p.steps[1].buffers[0].offset = 320; }},
      {"buffer is not aligned", [](Plan& p) { p.steps[1].buffers[0].offset = 4; }},
      {"negative size", [](Plan& p) { p.arena_bytes = -64; }},
  };
  EXPECT_NO_THROW(validate(two_step_plan()));
  for (const Case& c : cases) {
    Plan plan = two_step_plan();
    c.change(plan);
    try {
      validate(plan);
      ADD_FAILURE() << "accepted: " << c.text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidModel);
      EXPECT_NE(std::string(error.what()).find(c.text), std::string::npos) << c.text << " against " << error.what();
    }
  }
}

}  // namespace
}  // namespace temper::runtime
