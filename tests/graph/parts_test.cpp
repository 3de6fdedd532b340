// Which values lie inside of others, that programs and plans find them there, and what has to be copied still.
#include "temper/graph/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "graph/random_model.h"
#include "graph/run_pass.h"
#include "graph/run_plan.h"
#include "temper/graph/pipeline.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

using testing::attribute;
using ::testing::ElementsAre;
using testing::expect_close;
using testing::ModelBuilder;
using testing::plan_of;
using testing::random_inputs;
using testing::run;

using List = std::vector<std::int64_t>;

/// The program without layouts, so that axes are the model's. Checks what its steps and its plan compute.
Program program_of(const ModelBuilder& b) {
  const Graph plain = optimise(b.import(), {}, {"layout"});
  Program program = extract_tasks(plain);
  const NamedTensors inputs = random_inputs(plain, 3);
  const auto expected = evaluate(plain, inputs);
  expect_close(evaluate(program, inputs), expected);
  expect_close(run(plan_of(program), inputs), expected);
  return program;
}

/// Operators of the steps: "relu", or what an elementwise step computes.
std::vector<std::string> operators(const Program& program) {
  std::vector<std::string> result;
  for (const Step& step : program.steps) {
    const record::TaskKey& key = program.tasks[static_cast<std::size_t>(step.task)].key;
    result.push_back(key.op == "elementwise" ? key.fields.back().second : key.op);
  }
  return result;
}

/// "value in whole from offset" of each part.
std::vector<std::string> parts(const Program& program) {
  std::vector<std::string> result;
  for (const Part& part : program.parts) {
    result.push_back(program.graph.value(part.value).name + " in " + program.graph.value(part.whole).name + " from " +
                     std::to_string(part.offset));
  }
  return result;
}

TEST(Parts, WhatIsConcatenatedIsComputedInItsPlace) {
  ModelBuilder b;
  b.input("x", {1, 3, 5}).input("z", {1, 2, 5});
  b.node("Relu", {"x"}, {"a"}).node("Tanh", {"z"}, {"b"});
  b.node("Concat", {"a", "b"}, {"c"}, attribute("axis", 1)).node("Softmax", {"c"}, {"y"}).output("y");
  const Program program = program_of(b);
  EXPECT_THAT(operators(program), ElementsAre("Relu(in0)", "Tanh(in0)", "softmax"));
  EXPECT_THAT(parts(program), ElementsAre("a in c from 0", "b in c from 15"));
}

TEST(Parts, WhoElseReadsAPartReadsItThere) {
  ModelBuilder b;
  b.input("x", {3, 5});
  b.node("Softmax", {"x"}, {"a"}).node("Tanh", {"x"}, {"b"}).node("Softmax", {"a"}, {"early"});
  b.node("Concat", {"b", "a"}, {"c"}, attribute("axis", 0)).node("Softmax", {"c"}, {"y"});
  b.node("Softmax", {"a"}, {"late"}).output("y").output("late").output("early");
  const Program program = program_of(b);
  EXPECT_THAT(parts(program), ElementsAre("b in c from 0", "a in c from 15"));
  EXPECT_EQ(program.steps.size(), 5u);
}

TEST(Parts, WhatNoStepComputesForOneConcatenationAloneIsCopied) {
  const auto refuses = [](const std::vector<std::string>& inputs, const List& other = {3, 5}) {
    ModelBuilder b;
    b.input("x", {3, 5}).input("z", {other.begin(), other.end()}).floats("w", {1, 5}, {1, 2, 3, 4, 5});
    b.node("Relu", {"x"}, {"a"}).node("Neg", {"a"}, {"b"});
    b.node("Concat", inputs, {"c"}, attribute("axis", 0)).node("Exp", {"c"}, {"y"}).output("y").output("b");
    return program_of(b).parts.empty();
  };
  EXPECT_FALSE(refuses({"a", "b"}));
  EXPECT_TRUE(refuses({"a", "z"})) << "an input of the model";
  EXPECT_TRUE(refuses({"w", "a"})) << "a constant";
  EXPECT_TRUE(refuses({"a", "a"})) << "one value twice";
  EXPECT_TRUE(refuses({"a", "b", "a"})) << "one value twice";
}

TEST(Parts, AValueLiesInOneWholeOnly) {
  ModelBuilder b;
  b.input("x", {3, 5}).node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"n"}).node("Tanh", {"x"}, {"t"});
  b.node("Concat", {"a", "n"}, {"c"}, attribute("axis", 0)).node("Concat", {"t", "a"}, {"d"}, attribute("axis", 0));
  b.node("Exp", {"c"}, {"y"}).node("Exp", {"d"}, {"z"}).output("y").output("z");
  const Program program = program_of(b);
  EXPECT_THAT(parts(program), ElementsAre("t in d from 0", "a in d from 15"));
  EXPECT_THAT(operators(program), ::testing::Contains("concat"));
}

/// Keys of all tasks that are laid out with gaps: "name=strides ...".
std::vector<std::string> gaps(const Program& program) {
  std::vector<std::string> result;
  for (const Task& task : program.tasks) {
    std::string text;
    for (const auto& [name, value] : task.key.fields) {
      if (name.ends_with("_strides")) text += (text.empty() ? "" : " ") + name + "=" + value;
    }
    if (!text.empty()) result.push_back(text);
  }
  return result;
}

TEST(Parts, RowsMayHaveOthersBetweenThem) {
  ModelBuilder b;
  b.input("x", {3, 10}).node("Relu", {"x"}, {"a"}).node("Softmax", {"x"}, {"s"}).node("Softmax", {"a"}, {"late"});
  b.node("Concat", {"a", "s"}, {"c"}, attribute("axis", 1)).node("Exp", {"c"}, {"y"}).output("y").output("late");
  const Program program = program_of(b);
  EXPECT_THAT(parts(program), ElementsAre("a in c from 0", "s in c from 10"));
  EXPECT_THAT(gaps(program), ElementsAre("out_strides=20;1", "out_strides=20;1", "in_strides=20;1"));
}

TEST(Parts, ShortRowsAreCopied) {
  ModelBuilder b;
  b.input("x", {3, 7}).node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"n"});
  b.node("Concat", {"a", "n"}, {"c"}, attribute("axis", 1)).node("Exp", {"c"}, {"y"}).output("y");
  EXPECT_TRUE(program_of(b).parts.empty());
}

TEST(Parts, AStepMayReadColumnsBesideThoseThatItWrites) {
  ModelBuilder b;
  b.input("x", {4, 10}).node("Relu", {"x"}, {"a"}).node("Softmax", {"a"}, {"s"}).node("Softmax", {"s"}, {"t"});
  b.node("Concat", {"a", "s", "t"}, {"y"}, attribute("axis", 1)).output("y").output("s");
  const Program program = program_of(b);
  EXPECT_EQ(program.parts.size(), 3u);
  // Moved onto each other, the columns are found to overlap.
  runtime::Plan plan = plan_of(program);
  for (runtime::PlanTensor& tensor : plan.tensors) {
    if (tensor.name == "t") tensor.view_offset -= 4;
  }
  try {
    run(plan, random_inputs(program.graph, 1));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("writes over what it reads"));
  }
}

TEST(Parts, ColumnsOfColumnsAndCutOnes) {
  ModelBuilder b;
  b.input("x", {2, 3, 8}).integers("sizes", {8, 16}).integers("s", {6, 8});
  b.node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"n"}).node("Tanh", {"x"}, {"t"});
  b.node("Concat", {"a", "n"}, {"c"}, attribute("axis", 2)).node("Concat", {"t", "c"}, {"d"}, attribute("axis", 2));
  b.node("Split", {"d", "sizes"}, {"p", "q"}, attribute("axis", -1)).node("Reshape", {"p", "s"}, {"p2"});
  b.node("Softmax", {"p2"}, {"y"}).node("Exp", {"q"}, {"z"}).output("y").output("z").output("n").output("p2");
  const Program program = program_of(b);
  EXPECT_THAT(parts(program), ElementsAre("t in d from 0", "c in d from 8", "a in c from 0", "n in c from 8",
                                          "p in d from 0", "q in d from 8"));
}

TEST(Parts, ShapesThatRunOnAcrossRowsNeedACopy) {
  ModelBuilder b;
  // The reduction sees two rows of 8 as one of 16; elementwise work takes any shape.
  b.input("x", {4, 8}).integers("s", {2, 16}).node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"n"});
  b.node("Reshape", {"a", "s"}, {"flat"}).node("Softmax", {"flat"}, {"m"}).output("m");
  b.node("Concat", {"a", "n"}, {"c"}, attribute("axis", 1)).node("Exp", {"c"}, {"y"}).output("y");
  EXPECT_TRUE(program_of(b).parts.empty());
}

TEST(Parts, ElementwiseWorkKeepsRowsApartWhereOneOperandDoes) {
  ModelBuilder b;
  b.input("x", {4, 8}).input("z", {8}).node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"n"});
  b.node("Concat", {"a", "n"}, {"c"}, attribute("axis", 1)).node("Exp", {"c"}, {"y"}).output("y");
  b.node("Mul", {"a", "x"}, {"u"}).node("Add", {"n", "z"}, {"v"}).output("u").output("v");
  const Program program = program_of(b);
  EXPECT_EQ(program.parts.size(), 2u);
  EXPECT_EQ(gaps(program).size(), 4u);
}

/// Convolutions, pooling, products and resizing in NHWC, which write into and read from channels of something larger.
TEST(Parts, ChannelsOfNhwc) {
  std::mt19937 random(4);
  ModelBuilder b;
  b.input("x", {2, 3, 6, 5}).floats("w", {8, 3, 3, 3}, testing::random_numbers(random, 216));
  b.floats("p", {9, 8, 1, 1}, testing::random_numbers(random, 72))
      .floats("d", {9, 1, 3, 3}, testing::random_numbers(random, 81));
  b.floats("q", {8, 17, 1, 1}, testing::random_numbers(random, 136)).floats("scales", {4}, {1, 1, 2, 2});
  const auto pads = attribute("pads", List{1, 1, 1, 1});
  b.node("Conv", {"x", "w"}, {"c"}, pads).node("Relu", {"c"}, {"r"}).node("Conv", {"r", "p"}, {"e"});
  b.node("Conv", {"e", "d"}, {"f"}, pads, attribute("group", 9))
      .node("Concat", {"r", "f"}, {"g"}, attribute("axis", 1));
  b.node("Conv", {"g", "q"}, {"h"})
      .node("MaxPool", {"h"}, {"m"}, attribute("kernel_shape", List{2, 2}), attribute("strides", List{2, 2}));
  b.node("Resize", {"m", "", "scales"}, {"u"}, attribute("mode", std::string("nearest")));
  b.node("MaxPool", {"r"}, {"k"}, attribute("kernel_shape", List{2, 1}), attribute("strides", List{1, 1}));
  b.node("AveragePool", {"u"}, {"o"}, attribute("kernel_shape", List{2, 1}))
      .node("MaxPool", {"k"}, {"k2"}, attribute("kernel_shape", List{1, 2}));
  b.node("GlobalAveragePool", {"k2"}, {"y"})
      .node("GlobalAveragePool", {"u"}, {"z"})
      .output("y")
      .output("z")
      .output("o");
  const Graph plain = optimise(b.import(), {}, {"layout"});
  const Program program = make_program(b.import(), {});
  const NamedTensors inputs = random_inputs(plain, 3);
  const auto expected = evaluate(plain, inputs);
  expect_close(evaluate(program, inputs), expected, 1e-4);
  expect_close(run(plan_of(program), inputs), expected, 1e-4);
  EXPECT_THAT(parts(program), ElementsAre("r in g from 0", "f in g from 8"));
}

TEST(Parts, OfPartsAndBehindReshapes) {
  ModelBuilder b;
  b.input("x", {2, 6}).integers("s", {4, 3}).integers("f", {12});
  b.node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"n"}).node("Tanh", {"x"}, {"t"}).node("Softmax", {"x"}, {"m"});
  b.node("Reshape", {"a", "s"}, {"a2"}).node("Reshape", {"n", "s"}, {"n2"}).node("Reshape", {"t", "f"}, {"t2"});
  b.node("Concat", {"a2", "n2"}, {"c"}, attribute("axis", 0)).node("Reshape", {"m", "f"}, {"m2"});
  b.integers("g", {24}).node("Reshape", {"c", "g"}, {"c2"});
  b.node("Concat", {"t2", "c2", "m2"}, {"d"}, attribute("axis", -1)).node("Exp", {"d"}, {"y"}).output("y");
  const Program program = program_of(b);
  EXPECT_THAT(parts(program),
              ElementsAre("t in d from 0", "c in d from 12", "m in d from 36", "a in c from 0", "n in c from 12"));
  for (const Part& part : program.parts)
    EXPECT_EQ(program.graph.value(location_of(program, part.value).owner).name, "d");
}

TEST(Parts, OutputsOfTheModel) {
  ModelBuilder b;
  b.input("x", {3, 5}).node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"n"});
  b.node("Concat", {"a", "n"}, {"y"}, attribute("axis", 0)).output("a").output("y").output("n");
  const Program program = program_of(b);
  EXPECT_EQ(program.parts.size(), 2u);
  const runtime::Plan plan = plan_of(program);
  EXPECT_EQ(plan.tensors[static_cast<std::size_t>(plan.outputs[1])].view_of, runtime::kNone) << "written in place";
  EXPECT_EQ(plan.arena_bytes, 0);
}

TEST(Parts, SlicesAreReadWhereTheyAre) {
  ModelBuilder b;
  b.input("x", {6, 5}).integers("sizes", {1, 3, 2}).node("Relu", {"x"}, {"a"});
  b.node("Split", {"a", "sizes"}, {"p", "q", "r"}, attribute("axis", 0));
  b.integers("from", {1}).integers("to", {3}).integers("rows", {0}).integers("columns", {1}).integers("two", {2});
  b.node("Slice", {"x", "from", "to", "rows"}, {"s"});             // rows of an input of the model
  b.node("Slice", {"q", "from", "to", "columns"}, {"gaps"});       // columns: each row leaves some out
  b.node("Slice", {"q", "from", "to", "rows", "two"}, {"every"});  // a single row is left
  for (const char* name : {"p", "q", "r", "s", "gaps", "every"}) {
    b.node("Softmax", {name}, {std::string("y_") + name}).output(std::string("y_") + name);
  }
  b.output("r");
  const Program program = program_of(b);
  EXPECT_THAT(parts(program),
              ElementsAre("p in a from 0", "q in a from 5", "r in a from 20", "s in x from 5", "every in q from 5"));
  EXPECT_THAT(operators(program), ::testing::Contains("slice").Times(1));
}

TEST(Parts, WhatASplitPutsIntoAConcatenationIsCopiedThere) {
  ModelBuilder b;
  b.input("x", {6, 5}).node("Relu", {"x"}, {"a"}).node("Split", {"a"}, {"p", "q"}, attribute("axis", 0));
  b.node("Tanh", {"q"}, {"t"}).node("Concat", {"t", "p"}, {"c"}, attribute("axis", 0));
  b.node("Softmax", {"c"}, {"y"}).output("y");
  const Program program = program_of(b);
  EXPECT_THAT(parts(program), ElementsAre("t in c from 0", "p in c from 15"));
  EXPECT_THAT(operators(program), ElementsAre("Relu(in0)", "split", "Tanh(in0)", "softmax"));
}

TEST(Parts, CanBeDisabled) {
  ModelBuilder b;
  b.input("x", {3, 5}).node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"n"});
  b.node("Concat", {"a", "n"}, {"y"}, attribute("axis", 0)).output("y");
  EXPECT_EQ(make_program(b.import(), {}).steps.size(), 2u);
  const Program program = make_program(b.import(), {}, {"parts"});
  EXPECT_TRUE(program.parts.empty());
  EXPECT_EQ(program.steps.size(), 3u);
}

/// The generator of random graphs must go on making what this is about.
TEST(Parts, AreCommonInRandomGraphs) {
  int computed = 0, cut = 0, inside_parts = 0, read_elsewhere = 0, copied = 0, computed_in_rows = 0, cut_in_rows = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Program program = testing::nhwc_program(testing::random_model(seed));
    bool of_part = false, elsewhere = false;
    for (const Part& part : program.parts) {
      of_part = of_part || part_of(program, part.whole) != nullptr;
      for (const Step& step : program.steps) {
        elsewhere = elsewhere || (part.computed && std::ranges::any_of(step.operands, [&](ValueId id) {
                                    return storage_of(program, id) == part.value;
                                  }));
      }
    }
    const auto any = [&](bool how) {
      return std::ranges::any_of(program.parts, [&](const Part& part) { return part.computed == how; });
    };
    const auto any_in_rows = [&](bool how) {
      return std::ranges::any_of(program.parts, [&](const Part& part) {
        return part.computed == how && !program.graph.value(part.value).strides.empty();
      });
    };
    computed_in_rows += any_in_rows(true) ? 1 : 0;
    cut_in_rows += any_in_rows(false) ? 1 : 0;
    computed += any(true) ? 1 : 0;
    cut += any(false) ? 1 : 0;
    inside_parts += of_part ? 1 : 0;
    read_elsewhere += elsewhere ? 1 : 0;
    copied += std::ranges::any_of(program.tasks, [](const Task& task) { return task.key.op == "concat"; }) ? 1 : 0;
  }
  EXPECT_GE(computed, 20);
  EXPECT_GE(cut, 10);
  EXPECT_GE(inside_parts, 5);
  EXPECT_GE(read_elsewhere, 10);
  EXPECT_GE(copied, 20);
  EXPECT_GE(computed_in_rows, 10);
  EXPECT_GE(cut_in_rows, 5);
}

}  // namespace
}  // namespace temper::graph
