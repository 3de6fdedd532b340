#include "temper/tune/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_task.h"
#include "temper/support/error.h"
#include "temper/tune/task_space.h"

namespace temper::tune {
namespace {

TEST(Task, ASpecNamesTheSameTaskHoweverItIsWritten) {
  const Task task = task_from_spec("matmul(m=16,n=8,k=4)", 2);
  EXPECT_EQ(task.key, task_from_spec("matmul(k=4, n=8, m=16)", 2).key);
  EXPECT_EQ(task.key.op, "matmul");
  EXPECT_EQ(task.key.fields.back(), (std::pair<std::string, std::string>("threads", "2")));
  EXPECT_NE(task.key, task_from_spec("matmul(m=16,n=8,k=4)", 1).key);
  EXPECT_DOUBLE_EQ(task.flops, 2.0 * 16 * 8 * 4);
  EXPECT_EQ(task.definition_hash, ir::structural_hash(task.compute));
  EXPECT_GT(task.tolerance_factor, 1);
}

TEST(Task, ADefinitionOfTheUsersOwnIsATaskToo) {
  const Task task = make_task("mine", {{"m", "8"}}, testing::product(8, 8, 8), 1, 3);
  EXPECT_EQ(task.key.text(), "mine(m=8,threads=1)");
  EXPECT_EQ(task.count, 3);
  EXPECT_DOUBLE_EQ(task.flops, 2.0 * 8 * 8 * 8);
}

TEST(Task, CountsMustBePositive) {
  EXPECT_THROW(task_from_spec("matmul(m=16,n=8,k=4)", 0), Error);
  EXPECT_THROW(make_task("mine", {}, testing::product(8, 8, 8), 1, 0), Error);
  EXPECT_THROW(task_from_spec("matmul(m=16)", 1), Error);
}

TEST(TaskSpace, AlternativesAddDesignsUnderTheirName) {
  Task task = testing::sample_task();
  task.alternatives.push_back({"other", testing::product(8, 8, 8)});
  const auto templates = testing::sample_templates();
  const TaskSpace space(task, testing::sample_target(), templates);
  ASSERT_EQ(space.designs().size(), 2U);
  EXPECT_EQ(space.designs()[0].name, "tiled");
  EXPECT_EQ(space.designs()[1].name, "other/tiled");
  EXPECT_EQ(algorithm_of("other/tiled"), "other");
  EXPECT_EQ(algorithm_of("tiled"), "");
  const search::Candidate candidate{1, {2, 0, 0, 0}};
  EXPECT_EQ(space.materialise(candidate).trace().front().args, (std::vector<std::string>{"C", "m", "4", "peel"}));
  EXPECT_EQ(space.default_candidate().design, 0);
}

TEST(TaskSpace, AnAlternativeWithoutATemplateIsLeftOut) {
  Task task = testing::sample_task();
  task.alternatives.push_back({"other", testing::product(4, 8, 8)});
  auto templates = testing::sample_templates();
  templates.front().applies = [](const ir::Compute& compute, const target::Target&) {
    return compute.outputs.front()->shape()[0] == 8;
  };
  EXPECT_EQ(TaskSpace(task, testing::sample_target(), templates).designs().size(), 1U);
}

TEST(TasksFromModel, CountAndNameComeFromTheSteps) {
  graph::Program program;
  graph::Task work;
  work.work = ops::matmul_workload({1, 8, 8, 8});
  work.count = 2;
  program.tasks = {work, work};
  program.steps.resize(3);
  program.steps[0] = {1, "first", {}, {}, {}};
  program.steps[1] = {0, "second", {}, {}, {}};
  program.steps[2] = {0, "third", {}, {}, {}};
  const std::vector<Task> tasks = tasks_from_model(program, 4, target::detect());
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].name, "second");
  EXPECT_EQ(tasks[1].name, "first");
  EXPECT_EQ(tasks[0].count, 2);
  EXPECT_EQ(tasks[0].threads, 4);
}

TEST(Task, ColdConstantsArePartOfTheKey) {
  const Task warm = task_from_spec("matmul(m=16,n=8,k=4)", 2);
  const Task cold = with_cold_constants(warm);
  EXPECT_TRUE(cold.cold_constants);
  EXPECT_NE(cold.key, warm.key);
  EXPECT_THAT(cold.key.text(), ::testing::EndsWith(",constants=cold,threads=2)"));
  EXPECT_EQ(with_cold_constants(cold).key, cold.key);
  const Task read = task_from_spec(cold.key.text(), 1);
  EXPECT_EQ(read.key, cold.key);
  EXPECT_TRUE(read.cold_constants);
  const Task without = task_from_spec("matmul(m=16,n=8,k=4,const=none)", 2);
  EXPECT_FALSE(with_cold_constants(without).cold_constants) << "there are none";
  EXPECT_THROW(task_from_spec("matmul(m=16,n=8,k=4,const=none,constants=cold,threads=2)", 1), Error);
}

TEST(TasksFromModel, ConstantsAreColdWhereTheyExceedTheLastCache) {
  graph::Program program;
  graph::Task work;
  work.work = ops::matmul_workload({1, 8, 8, 8});
  work.count = 2;
  program.tasks = {work};
  const std::vector<double> numbers(64, 1.0);
  const graph::ValueId b =
      program.graph.add_constant("b", ops::TensorValue::from_numbers({ir::DType::F32, {8, 8}}, numbers));
  program.steps.resize(2);
  for (graph::Step& step : program.steps) step = {0, "step", {}, {b}, {}};
  target::Target target = target::detect();
  target.l2_bytes = 0;
  target.l3_bytes = 256;  // as much as the one constant has
  EXPECT_FALSE(tasks_from_model(program, 1, target).front().cold_constants);
  target.l3_bytes = 255;
  EXPECT_TRUE(tasks_from_model(program, 1, target).front().cold_constants);
  target.l3_bytes = 0;
  EXPECT_FALSE(tasks_from_model(program, 1, target).front().cold_constants) << "no cache is known";
}

}  // namespace
}  // namespace temper::tune
