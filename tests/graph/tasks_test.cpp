// Groups, keys and bindings: which nodes run together, and under which name.
#include "temper/graph/tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "graph/run_pass.h"
#include "temper/graph/pipeline.h"
#include "temper/ops/spec.h"

namespace temper::graph {
namespace {

using testing::attribute;
using ::testing::ElementsAre;
using testing::expect_close;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::nhwc_program;
using testing::random_inputs;
using testing::random_numbers;

using List = std::vector<std::int64_t>;

/// Extracts, with all chains in NHWC, and checks that steps compute what the nodes do.
Program tasks(const ModelBuilder& b, bool fuse_nodes = true, std::set<std::string> disabled = {}) {
  const Graph plain =
      optimise(b.import(), {}, {"identities", "patterns", "affine", "excite", "rank", "transposed", "gemm", "layout"});
  if (!fuse_nodes) disabled.insert("fusion");
  Program program = nhwc_program(b, disabled);
  const NamedTensors inputs = random_inputs(plain, 5);
  expect_close(evaluate(program, inputs), evaluate(plain, inputs));
  return program;
}

/// Keys of all steps, in order.
std::vector<std::string> keys(const Program& program) {
  std::vector<std::string> texts;
  for (const Step& step : program.steps) texts.push_back(program.tasks[static_cast<std::size_t>(step.task)].key.text());
  return texts;
}
std::vector<std::string> steps(const Program& program) {
  std::vector<std::string> texts;
  for (const Step& step : program.steps) {
    std::string text;
    for (const std::string& node : step.nodes) text += (text.empty() ? "" : "+") + node;
    texts.push_back(text);
  }
  return texts;
}

ModelBuilder model(const List& shape) {
  std::mt19937 random(9);
  ModelBuilder b(15);
  b.input("x", std::vector<testing::Dim>(shape.begin(), shape.end()));
  b.floats("w1", {6, 4, 1, 1}, random_numbers(random, 24)).floats("w3", {6, 4, 3, 3}, random_numbers(random, 216));
  b.floats("dw", {4, 1, 3, 3}, random_numbers(random, 36)).floats("b6", {6}, random_numbers(random, 6));
  b.floats("m", {4, 6}, random_numbers(random, 24));
  return b;
}

TEST(TaskKeys, EqualTheSpecs) {
  ModelBuilder b = model({2, 4, 5, 7});
  // The pooling wants x as NHWC, so that the convolution finds it so.
  b.node("MaxPool", {"x"}, {"p"}, attribute("kernel_shape", List{1, 1})).output("p");
  b.node("Conv", {"x", "w3", "b6"}, {"c"}, attribute("pads", List{1, 0, 1, 2}), attribute("strides", List{2, 1}));
  b.node("Relu", {"c"}, {"y"}).output("y");
  const Program program = tasks(b);
  const ops::Workload spec =
      ops::parse_spec("conv2d(n=2,ic=4,h=5,w=7,oc=6,kh=3,kw=3,stride=2:1,pad=1:0:1:2,layout=nhwc,epilogue=bias+relu)");
  bool found = false;
  for (const Task& task : program.tasks) {
    if (task.key.op != "conv2d") continue;
    found = true;
    EXPECT_EQ(task.key.text(), spec.text());
    EXPECT_EQ(ir::structural_hash(task.work.compute), ir::structural_hash(spec.compute));
  }
  EXPECT_TRUE(found);
}

TEST(TaskKeys, AConvolutionThatReadsAnImageSaysSo) {
  ModelBuilder b = model({2, 4, 5, 7});
  b.node("Conv", {"x", "w3", "b6"}, {"y"}).output("y");
  const Program program = tasks(b);
  EXPECT_EQ(program.tasks[0].key.text(),
            "conv2d(n=2,ic=4,h=5,w=7,oc=6,kh=3,kw=3,stride=1,pad=0,dilation=1,groups=1,layout=nhwc,in=nchw,dtype=f32,"
            "epilogue=bias,const=weights)");
  EXPECT_EQ(program.tasks[0].work.compute.stage("in")->shape(), (List{2, 4, 5, 7}));
  EXPECT_EQ(program.tasks[0].work.compute.stage("out")->shape(), (List{2, 3, 5, 6}));
}

TEST(TaskKeys, PointwiseConvolutionIsAProduct) {
  ModelBuilder b = model({2, 4, 5, 7});
  b.node("Conv", {"x", "w1", "b6"}, {"c"}).node("HardSwish", {"c"}, {"y"}).output("y");
  EXPECT_EQ(tasks(b).tasks[1].key.text(), ops::parse_spec("matmul(m=70,n=6,k=4,epilogue=bias+hardswish)").text());
}

TEST(TaskKeys, PointwiseConvolutionWithStrideOrPadIsNot) {
  ModelBuilder b = model({2, 4, 5, 7});
  b.node("Conv", {"x", "w1"}, {"a"}, attribute("strides", List{1, 2})).output("a");
  b.node("Conv", {"x", "w1"}, {"c"}, attribute("pads", List{0, 1, 0, 0})).output("c");
  const Program program = tasks(b);
  EXPECT_EQ(program.tasks[1].key.op, "conv2d");
  EXPECT_EQ(program.tasks[2].key.op, "conv2d");
}

TEST(TaskKeys, WithoutTheLayoutPassConvolutionsStayNchw) {
  ModelBuilder b = model({2, 4, 5, 7});
  b.node("Conv", {"x", "w1", "b6"}, {"c"}).node("Relu", {"c"}, {"y"}).output("y");
  const Program program = tasks(b, true, {"layout"});
  ASSERT_EQ(program.tasks.size(), 1u);
  EXPECT_EQ(program.tasks[0].key.text(),
            ops::parse_spec("conv2d(n=2,ic=4,h=5,w=7,oc=6,kh=1,kw=1,epilogue=bias+relu)").text());
}

TEST(TaskKeys, MatMulsCollapseTheirRows) {
  ModelBuilder b = model({3, 5, 4});
  b.node("MatMul", {"x", "m"}, {"p"}).node("Add", {"p", "b6"}, {"y"}).output("y");
  EXPECT_EQ(tasks(b).tasks[0].key.text(), ops::parse_spec("matmul(m=15,n=6,k=4,epilogue=bias)").text());
}

TEST(TaskKeys, BatchedProductsOfTwoInputs) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 5, 4}).input("z", {2, 3, 4, 6}).floats("c", {6}, {1, 2, 3, 4, 5, 6});
  b.node("MatMul", {"x", "z"}, {"p"}).node("Add", {"p", "c"}, {"y"}).output("y");
  EXPECT_EQ(tasks(b).tasks[0].key.text(),
            ops::parse_spec("matmul(batch=6,m=5,n=6,k=4,epilogue=bias,const=none)").text());
}

TEST(TaskKeys, BroadcastBatchesAreSpelledOut) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 5, 4}).input("z", {3, 4, 6}).node("MatMul", {"x", "z"}, {"y"}).output("y");
  EXPECT_EQ(keys(tasks(b)),
            (std::vector<std::string>{"matmul(attributes=,layout=nchw,in0=f32[2;3;5;4],in1=f32[3;4;6])"}));
}

TEST(TaskKeys, SoftmaxAndLayerNormAreRowsAndColumns) {
  ModelBuilder b(17);
  b.input("x", {2, 3, 4}).floats("g", {3, 4}, std::vector<float>(12, 2)).floats("h", {3, 4}, std::vector<float>(12, 1));
  b.node("Softmax", {"x"}, {"s"}, attribute("axis", -1))
      .node("LayerNormalization", {"s", "g", "h"}, {"n"}, attribute("axis", 1));
  b.node("LayerNormalization", {"n", "g"}, {"y"}, attribute("axis", -2)).output("y");
  const Program program = tasks(b);
  EXPECT_EQ(program.tasks[0].key.text(), ops::parse_spec("softmax(rows=6,cols=4)").text());
  EXPECT_EQ(program.tasks[1].key.op, "layernorm");
  EXPECT_EQ(program.tasks[1].count, 2);
  ModelBuilder c(11);
  c.input("x", {2, 3, 4}).node("Softmax", {"x"}, {"y"}, attribute("axis", 1)).output("y");
  EXPECT_EQ(tasks(c).tasks[0].key.text(), ops::parse_spec("softmax(rows=2,cols=12)").text());
  ModelBuilder d(13);
  d.input("x", {2, 3, 4}).node("Softmax", {"x"}, {"y"}, attribute("axis", 1)).output("y");
  EXPECT_EQ(tasks(d).tasks[0].key.text(), R"(softmax(opset=13,attributes=axis=1,layout=nchw,in0=f32[2;3;4]))");
}

TEST(TaskKeys, ElementwiseAxesCollapse) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 4, 5}).input("z", {2, 3, 4, 5}).node("Mul", {"x", "z"}, {"y"}).output("y");
  EXPECT_EQ(keys(tasks(b)), (std::vector<std::string>{"elementwise(in0=f32[120],in1=f32[120],expr=Mul(in0;in1))"}));
  ModelBuilder c(13);
  c.input("x", {2, 3, 4, 5}).input("z", {2, 3, 1, 1}).node("Mul", {"x", "z"}, {"y"}).output("y");
  EXPECT_EQ(keys(tasks(c)), (std::vector<std::string>{"elementwise(in0=f32[6;20],in1=f32[6;1],expr=Mul(in0;in1))"}));
  ModelBuilder d(13);
  d.input("x", {2, 1, 4}).input("z", {3, 1}).node("Sub", {"x", "z"}, {"y"}).output("y");
  EXPECT_EQ(keys(tasks(d)), (std::vector<std::string>{"elementwise(in0=f32[2;1;4],in1=f32[1;3;1],expr=Sub(in0;in1))"}));
  ModelBuilder e(13);
  e.input("x", {}).node("Exp", {"x"}, {"y"}).output("y");
  EXPECT_EQ(keys(tasks(e)), (std::vector<std::string>{"elementwise(in0=f32[1],expr=Exp(in0))"}));
}

TEST(TaskKeys, AbsorbedContentsArePartOfTheKey) {
  const auto key = [](float high) {
    ModelBuilder b(13);
    b.input("x", {4}).floats("lo", {}, {0}).floats("hi", {}, {high}).node("Clip", {"x", "lo", "hi"}, {"y"}).output("y");
    return keys(tasks(b))[0];
  };
  EXPECT_NE(key(1), key(2));
  EXPECT_THAT(key(2), HasSubstr("in2=f32[][2]"));
  const auto slice = [](std::int64_t start) {
    ModelBuilder b(13);
    b.input("x", {8})
        .integers("s", {start})
        .integers("e", {start + 4})
        .integers("axes", {0})
        .integers("steps", {2})
        .node("Slice", {"x", "s", "e", "axes", "steps"}, {"y"})
        .output("y");
    return keys(tasks(b))[0];
  };
  EXPECT_NE(slice(1), slice(2));
}

TEST(TaskKeys, ConstantsThatAreReadAreNotPartOfTheKey) {
  ModelBuilder b(13);
  b.input("x", {2, 3}).floats("a", {3}, {1, 2, 3}).floats("c", {3}, {4, 5, 6});
  b.node("Softmax", {"x"}, {"s"})
      .node("Mul", {"s", "a"}, {"p"})
      .node("Softmax", {"p"}, {"t"})
      .node("Mul", {"t", "c"}, {"y"});
  b.output("y");
  const Program program = tasks(b);
  EXPECT_EQ(program.tasks.size(), 2u);
  EXPECT_EQ(program.tasks[1].count, 2);
  EXPECT_THAT(program.tasks[1].key.text(), HasSubstr("in1=const f32[1;3]"));
}

// --- fusion ----------------------------------------------------------------------------------------------------------

TEST(Fusion, ResidualAndActivationJoinTheirProducer) {
  ModelBuilder b = model({1, 4, 5, 5});
  b.node("Conv", {"x", "dw"}, {"c"}, attribute("group", 4), attribute("pads", List{1, 1, 1, 1}));
  b.node("Add", {"x", "c"}, {"a"}).node("Relu", {"a"}, {"r"}).node("Mul", {"r", "r"}, {"y"}).output("y");
  const Program program = tasks(b);
  EXPECT_THAT(steps(program), ElementsAre("", "Conv_c+Add_a+Relu_r+Mul_y", ""));
  EXPECT_THAT(program.tasks[1].key.text(), HasSubstr("epilogue=add+relu+square"));
}

TEST(Fusion, EveryItemKeepsItsOperand) {
  ModelBuilder b = model({2, 4, 5, 5});
  b.input("image", {2, 6, 1, 1}).input("full", {2, 6, 5, 5}).input("other", {2, 6, 5, 5}).floats("k", {}, {3});
  b.node("Conv", {"x", "w3", "b6"}, {"c"}, attribute("pads", List{1, 1, 1, 1}));
  b.node("Mul", {"c", "image"}, {"c1"})
      .node("Sub", {"full", "c1"}, {"c2"})
      .node("Add", {"image", "c2"}, {"c3"})
      .node("Sub", {"c3", "other"}, {"c4"})
      .node("Mul", {"c4", "full"}, {"c5"})
      .node("Div", {"c5", "k"}, {"c6"})
      .node("Sigmoid", {"c6"}, {"s"})
      .node("Mul", {"s", "c6"}, {"c7"})
      .node("Pow", {"c7", "two"}, {"c8"})
      .floats("two", {}, {2})
      .node("Clip", {"c8", "lo", "hi"}, {"y"})
      .floats("lo", {}, {-1})
      .floats("hi", {}, {1})
      .output("y");
  const Program program = tasks(b);
  EXPECT_THAT(program.tasks.back().key.text(), ::testing::AnyOf(HasSubstr("transpose"), HasSubstr("conv2d")));
  bool found = false;
  for (const Task& task : program.tasks) {
    found |= task.key.text().find("epilogue=bias+imagemul+rsub+imageadd+sub+mul+divc:3+silu+square+clip:-1:1") !=
             std::string::npos;
  }
  EXPECT_TRUE(found);
}

TEST(Fusion, ABiasThatIsComputedIsNoConstant) {
  ModelBuilder b = model({3, 4});
  b.input("live", {6}).node("MatMul", {"x", "m"}, {"p"}).node("Add", {"p", "live"}, {"y"}).output("y");
  EXPECT_THAT(steps(tasks(b)), ElementsAre("MatMul_p", "Add_y"));
}

TEST(Fusion, AnOperandPerImageKeepsAPointwiseConvolutionOne) {
  ModelBuilder b = model({2, 4, 5, 7});
  b.input("image", {2, 6, 1, 1}).node("Conv", {"x", "w1"}, {"c"}).node("Mul", {"c", "image"}, {"y"}).output("y");
  const std::vector<std::string> found = keys(tasks(b));
  EXPECT_THAT(found, ::testing::Contains(::testing::AllOf(HasSubstr("conv2d("), HasSubstr("epilogue=imagemul"))));
}

TEST(Fusion, ASecondReaderEndsTheChain) {
  ModelBuilder b = model({1, 4, 5, 5});
  b.node("Conv", {"x", "w1"}, {"c"})
      .node("Relu", {"c"}, {"r"})
      .node("Exp", {"c"}, {"e"})
      .node("Add", {"r", "e"}, {"y"});
  b.output("y");
  EXPECT_THAT(steps(tasks(b)), ElementsAre("", "Conv_c", "Relu_r+Exp_e+Add_y", ""));
}

TEST(Fusion, ProductsChooseBeforeElementwiseNodes) {
  ModelBuilder b = model({3, 4});
  b.input("z", {3, 6}).node("Relu", {"z"}, {"r"}).node("MatMul", {"x", "m"}, {"p"}).node("Add", {"r", "p"}, {"y"});
  b.output("y");
  EXPECT_THAT(steps(tasks(b)), ElementsAre("Relu_r", "MatMul_p+Add_y"));
}

TEST(Fusion, AGraphOutputEndsTheChain) {
  ModelBuilder b = model({3, 4});
  b.node("MatMul", {"x", "m"}, {"p"}).node("Relu", {"p"}, {"y"}).output("p").output("y");
  EXPECT_THAT(steps(tasks(b)), ElementsAre("MatMul_p", "Relu_y"));
}

TEST(Fusion, BroadcastOfTheResultEndsTheChain) {
  ModelBuilder b = model({1, 4});
  b.input("z", {3, 6}).node("MatMul", {"x", "m"}, {"p"}).node("Add", {"p", "z"}, {"y"}).output("y");
  EXPECT_THAT(steps(tasks(b)), ElementsAre("MatMul_p", "Add_y"));
}

TEST(Fusion, DiamondsOfElementwiseNodesAreOneTask) {
  ModelBuilder b(13);
  b.input("x", {3, 4}).input("z", {4});
  b.node("Relu", {"x"}, {"r"})
      .node("Sigmoid", {"r"}, {"s"})
      .node("Tanh", {"r"}, {"t"})
      .node("Mul", {"s", "t"}, {"m"})
      .node("Add", {"m", "z"}, {"y"})
      .output("y");
  const Program program = tasks(b);
  ASSERT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(keys(program)[0],
            "elementwise(in0=f32[3;4],in1=f32[1;4],expr=Add(Mul(Sigmoid(Relu(in0));Tanh(Relu(in0)));in1))");
}

TEST(Fusion, ADetourThroughAnotherOperatorIsNotADiamond) {
  ModelBuilder b(13);
  b.input("x", {3, 4});
  b.node("Relu", {"x"}, {"r"}).node("ReduceMax", {"r"}, {"t"}).node("Sub", {"r", "t"}, {"y"}).output("y");
  EXPECT_THAT(steps(tasks(b)), ElementsAre("Relu_r", "ReduceMax_t", "Sub_y"));
}

TEST(Fusion, ReductionsTakeInWhatFollows) {
  ModelBuilder b = model({1, 4, 6, 6});
  b.node("MaxPool", {"x"}, {"p"}, attribute("kernel_shape", List{2, 2}))
      .node("Neg", {"p"}, {"n"})
      .node("Exp", {"n"}, {"y"});
  b.output("y");
  const Program program = tasks(b);
  EXPECT_THAT(steps(program), ElementsAre("", "MaxPool_p+Neg_n+Exp_y", ""));
  EXPECT_THAT(keys(program)[1], HasSubstr("then=Exp(Neg(x))"));
}

TEST(Fusion, ProductsOfBlocksAreStoredAsPixels) {
  const auto upsampled = [](std::int64_t channels) {
    std::mt19937 random(9);
    ModelBuilder b(15);
    b.input("x", {std::int64_t{3}, std::int64_t{5}, std::int64_t{2}, std::int64_t{4}});
    b.floats("w", {5, channels, 2, 2}, random_numbers(random, static_cast<std::size_t>(20 * channels)));
    b.floats("bias", {channels}, random_numbers(random, static_cast<std::size_t>(channels)));
    b.node("ConvTranspose", {"x", "w", "bias"}, {"u"}, attribute("strides", List{2, 2}));
    b.node("Relu", {"u"}, {"y"}).output("y");
    return keys(tasks(b));
  };
  EXPECT_THAT(upsampled(11), ::testing::Contains(::testing::AllOf(HasSubstr("m=24,n=44,k=5"), HasSubstr("bias+relu"),
                                                                  HasSubstr("blocks=2x4"))));
  EXPECT_THAT(upsampled(11), ::testing::Not(::testing::Contains(HasSubstr("depthtospace"))));
  // 24 bytes in a row are written sooner in one piece.
  EXPECT_THAT(upsampled(3), ::testing::Contains(HasSubstr("depthtospace")));
}

// As many pixels as the input has do not make a convolution a product: these read others.
TEST(Fusion, ConvolutionsWithStridesOrPadsAreNotStoredAsPixels) {
  const auto shuffled = [](std::int64_t height, const List& pads) {
    std::mt19937 random(9);
    ModelBuilder b(15);
    b.input("x", {std::int64_t{1}, std::int64_t{5}, height, std::int64_t{4}});
    b.floats("w", {44, 5, 1, 1}, random_numbers(random, 220));
    b.node("Conv", {"x", "w"}, {"c"}, attribute("strides", List{2, 1}), attribute("pads", pads));
    b.node("DepthToSpace", {"c"}, {"y"}, attribute("blocksize", std::int64_t{2})).output("y");
    return keys(tasks(b));
  };
  EXPECT_THAT(shuffled(1, {0, 0, 0, 0}), ::testing::Contains(HasSubstr("depthtospace")));
  EXPECT_THAT(shuffled(2, {1, 0, 0, 0}), ::testing::Contains(HasSubstr("depthtospace")));
}

TEST(Fusion, CanBeTurnedOff) {
  ModelBuilder b = model({3, 4});
  b.node("MatMul", {"x", "m"}, {"p"}).node("Relu", {"p"}, {"y"}).output("y");
  EXPECT_THAT(steps(tasks(b, false)), ElementsAre("MatMul_p", "Relu_y"));
}

TEST(Fusion, TwoProducersOfOneSumGiveOneChain) {
  ModelBuilder b = model({3, 4});
  std::mt19937 random(1);
  b.floats("m2", {4, 6}, random_numbers(random, 24));
  b.node("MatMul", {"x", "m"}, {"p"})
      .node("MatMul", {"x", "m2"}, {"q"})
      .node("Add", {"p", "q"}, {"s"})
      .node("Relu", {"s"}, {"y"});
  b.output("y");
  EXPECT_THAT(steps(tasks(b)), ElementsAre("MatMul_q", "MatMul_p+Add_s+Relu_y"));
}

TEST(Tasks, SplitHasSeveralOutputs) {
  ModelBuilder b(13);
  b.input("x", {2, 6}).integers("s", {2, 3, 1}).node("Split", {"x", "s"}, {"a", "c", "d"}, attribute("axis", 1));
  b.node("Exp", {"a"}, {"y"}).output("y").output("d");
  const Program program = tasks(b);
  EXPECT_EQ(program.steps[0].outputs.size(), 2u);  // nobody reads the middle
}

TEST(Tasks, FlopsAndToleranceAreGiven) {
  ModelBuilder b = model({3, 4});
  b.node("MatMul", {"x", "m"}, {"y"}).output("y");
  const Task task = tasks(b).tasks[0];
  EXPECT_EQ(task.work.flops, 2.0 * 3 * 4 * 6);
  EXPECT_GT(task.work.tolerance, 0);
}

}  // namespace
}  // namespace temper::graph
