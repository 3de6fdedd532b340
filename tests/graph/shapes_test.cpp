// Fixing input shapes, inferring the rest, and what is computed ahead; operators whose arguments moved from attributes
// to inputs behave the same in every opset.
#include <gtest/gtest.h>

#include <limits>

#include "graph/expect_error.h"
#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "temper/graph/passes/fix_shapes.h"
#include "temper/graph/passes/infer.h"
#include "temper/graph/pipeline.h"

namespace temper::graph {
namespace {

using testing::attribute;
using testing::Dim;
using testing::expect_error;
using testing::ModelBuilder;
using testing::operators;

using Axes = std::vector<std::int64_t>;

Graph relu(const std::vector<Dim>& dims) {
  return ModelBuilder().input("x", dims).node("Relu", {"x"}, {"y"}).output("y").import();
}

TEST(ParseShapeFix, ReadsNameAndSizes) {
  const auto [name, sizes] = parse_shape_fix("a=b=1,3,224");
  EXPECT_EQ(name, "a=b");
  EXPECT_EQ(sizes, (Sizes{1, 3, 224}));
}

TEST(ParseShapeFix, SaysWhichWordIsWrong) {
  for (const char* text : {"1,3,224", "=1,3"}) {
    expect_error(ErrorCode::InvalidArgument, {"names no input", "NAME=1,3,224,224"}, [&] { parse_shape_fix(text); });
  }
  expect_error(ErrorCode::InvalidArgument, {"'three'"}, [] { parse_shape_fix("x=1,three"); });
  expect_error(ErrorCode::InvalidArgument, {"''"}, [] { parse_shape_fix("x="); });
  expect_error(ErrorCode::InvalidArgument, {"''"}, [] { parse_shape_fix("x=1,"); });
  expect_error(ErrorCode::InvalidArgument, {"'0'"}, [] { parse_shape_fix("x=0"); });
  expect_error(ErrorCode::InvalidArgument, {"'-1'"}, [] { parse_shape_fix("x=-1"); });
  expect_error(ErrorCode::InvalidArgument, {"'99999999999999999999'"},
               [] { parse_shape_fix("x=99999999999999999999"); });
}

TEST(FixShapes, ReplacesSymbols) {
  Graph g = relu({"batch", 3, -1});
  fix_shapes(g, {{"x", {2, 3, 7}}});
  EXPECT_EQ(g.sizes(g.inputs[0]), (Sizes{2, 3, 7}));
}

TEST(FixShapes, Errors) {
  Graph g = relu({"batch", 3});
  expect_error(ErrorCode::InvalidArgument, {"no input called 'z'", "x[batch,3]"}, [&] { fix_shapes(g, {{"z", {1}}}); });
  expect_error(ErrorCode::InvalidArgument, {"2 dimensions, 3 were given"}, [&] { fix_shapes(g, {{"x", {1, 3, 4}}}); });
  expect_error(ErrorCode::InvalidArgument, {"is 3 in the model, 4 was given"}, [&] { fix_shapes(g, {{"x", {1, 4}}}); });
  expect_error(ErrorCode::InvalidArgument, {"size 0"}, [&] { fix_shapes(g, {{"x", {0, 3}}}); });
  Graph h = relu({"batch", 3});
  expect_error(ErrorCode::InvalidArgument, {"not fixed: x[batch,3]", "--shape"}, [&] { fix_shapes(h, {}); });
}

TEST(FixShapes, HugeSizesAreRefused) {
  Graph g = relu({"a", "b"});
  expect_error(ErrorCode::InvalidModel, {"too many elements"},
               [&] { fix_shapes(g, {{"x", {std::int64_t{1} << 31, std::int64_t{1} << 31}}}); });
}

TEST(FixShapes, OneSizeOfASymbolServesOtherInputs) {
  ModelBuilder b;
  b.input("x", {"n", "?"}).input("y", {"n", 2}).input("w", {"?", 1}).node("Add", {"x", "y"}, {"z"}).output("z");
  Graph g = b.import();
  Graph h = g;
  fix_shapes(g, {{"x", {5, 2}}});
  EXPECT_EQ(g.sizes(g.inputs[1]), (Sizes{5, 2}));
  EXPECT_EQ(g.sizes(g.inputs[2]), (Sizes{2, 1}));
  // '?' with two sizes tells nothing.
  ModelBuilder c;
  c.input("x", {"?", "?"}).input("y", {"?", 2}).node("Add", {"x", "y"}, {"z"}).output("z");
  Graph k = c.import();
  expect_error(ErrorCode::InvalidArgument, {"not fixed: y[?,2]"}, [&] { fix_shapes(k, {{"x", {5, 2}}}); });
}

/// The type of the first output after inference, and how many nodes stay.
struct Inferred {
  std::string type;
  std::size_t nodes;
};
Inferred inferred(const ModelBuilder& b) {
  Graph g = b.import();
  fix_shapes(g, {});
  infer(g);
  const Value& out = g.value(g.outputs[0]);
  return {std::string(ir::to_string(out.dtype)) + to_string(g.sizes(g.outputs[0])), g.nodes.size()};
}

TEST(Infer, ShapeArithmeticIsComputedAhead) {
  // y = Reshape(x, Concat(Shape(x)[0:1], [-1]))
  ModelBuilder b(13);
  b.input("x", {2, 3, 4})
      .integers("zero", {0})
      .integers("one", {1})
      .integers("minus", {-1})
      .node("Shape", {"x"}, {"s"})
      .node("Slice", {"s", "zero", "one"}, {"n"})
      .node("Concat", {"n", "minus"}, {"r"}, attribute("axis", 0))
      .node("Reshape", {"x", "r"}, {"y"})
      .output("y");
  const Inferred result = inferred(b);
  EXPECT_EQ(result.type, "f32[2,12]");
  EXPECT_EQ(result.nodes, 1u);
}

TEST(Infer, GatherUnsqueezeCastArithmetic) {
  ModelBuilder b(13);
  b.input("x", {2, 6, 4});
  *b.graph().add_initializer() = testing::tensor<std::int64_t>("i", onnx::TensorProto::INT64, {}, {1});
  b.integers("two", {2})
      .integers("axis0", {0})
      .node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "i"}, {"c"}, attribute("axis", 0))
      .node("Unsqueeze", {"c", "axis0"}, {"c1"})
      .node("Cast", {"c1"}, {"c2"}, attribute("to", 6))
      .node("Cast", {"c2"}, {"c3"}, attribute("to", 7))
      .node("Div", {"c3", "two"}, {"half"})
      .node("Concat", {"axis0", "two", "half", "minus"}, {"r"}, attribute("axis", 0))
      .integers("minus", {-1})
      .node("Reshape", {"x", "r"}, {"y"})
      .output("y");
  EXPECT_EQ(inferred(b).type, "f32[2,2,3,4]");
}

TEST(Infer, ConstantOfShapeAndRange) {
  ModelBuilder b(13);
  b.input("x", {2, 3}).node("Shape", {"x"}, {"s"}).node("ConstantOfShape", {"s"}, {"c"}).node("Add", {"x", "c"}, {"y"});
  b.output("y");
  EXPECT_EQ(inferred(b).nodes, 1u);
  ModelBuilder c(13);
  c.input("x", {4});
  for (const auto& [name, value] : std::vector<std::pair<std::string, float>>{{"a", 1}, {"e", 3}, {"d", 0.5f}}) {
    *c.graph().add_initializer() = testing::tensor<float>(name, onnx::TensorProto::FLOAT, {}, {value});
  }
  c.node("Range", {"a", "e", "d"}, {"r"}).node("Add", {"x", "r"}, {"y"}).output("y");
  Graph g = c.import();
  infer(g);
  ASSERT_EQ(operators(g), "Add");
  EXPECT_EQ(g.value(g.nodes[0].inputs[1]).data->numbers(), (std::vector<double>{1, 1.5, 2, 2.5}));
}

TEST(Infer, FloatConstantsAreFolded) {
  ModelBuilder b(13);
  b.input("x", {2}).floats("a", {2}, {1, 2}).floats("c", {1}, {3});
  b.node("Mul", {"a", "c"}, {"p"}).node("Exp", {"p"}, {"e"}).node("Add", {"x", "e"}, {"y"}).output("y");
  Graph g = b.import();
  infer(g);
  ASSERT_EQ(operators(g), "Add");
  const std::vector<double> numbers = g.value(g.nodes[0].inputs[1]).data->numbers();
  EXPECT_NEAR(numbers[0], std::exp(3), 1e-5);
  EXPECT_NEAR(numbers[1], std::exp(6), 1e-4);
}

TEST(Infer, AWholeModelMayBeConstant) {
  ModelBuilder b(13);
  b.floats("a", {2}, {1, -2}).node("Relu", {"a"}, {"y"}).output("y");
  Graph g = b.import();
  infer(g);
  EXPECT_TRUE(g.nodes.empty());
  EXPECT_EQ(g.value(g.outputs[0]).data->numbers(), (std::vector<double>{1, 0}));
}

TEST(Infer, ErrorsNameTheNode) {
  ModelBuilder b;
  b.input("x", {2, 3}).input("z", {4, 5}).node("MatMul", {"x", "z"}, {"y"}).output("y");
  expect_error(ErrorCode::InvalidModel, {"node 'MatMul_y' (MatMul)"}, [&] { inferred(b); });
  ModelBuilder c;
  c.input("x", {2, 3}).input("z", {2}).node("Add", {"x", "z"}, {"y"}).output("y");
  expect_error(ErrorCode::InvalidModel, {"node 'Add_y' (Add)"}, [&] { inferred(c); });
  ModelBuilder d;
  d.input("x", {2, 3}).node("Concat", {"x", "x"}, {"y"}, attribute("axis", 2)).output("y");
  expect_error(ErrorCode::InvalidModel, {"node 'Concat_y' (Concat)", "axis 2"}, [&] { inferred(d); });
}

TEST(Infer, ShapesThatDependOnDataAreRefused) {
  ModelBuilder b;
  b.input("x", {2, 3}).input("s", {2}, onnx::TensorProto::INT64).node("Reshape", {"x", "s"}, {"y"}).output("y");
  expect_error(ErrorCode::Unsupported, {"node 'Reshape_y'", "constant"}, [&] { inferred(b); });
}

TEST(Infer, EmptyOutputsAreRefused) {
  ModelBuilder b;
  b.input("x", {4}).integers("a", {1}).node("Slice", {"x", "a", "a"}, {"y"}).output("y");
  expect_error(ErrorCode::Unsupported, {"output 'y'", "empty", "[0]"}, [&] { inferred(b); });
}

TEST(Infer, HugeConstantsAreRefusedNotAllocated) {
  ModelBuilder b;
  b.input("x", {1}).integers("s", {std::int64_t{1} << 20, std::int64_t{1} << 20, std::int64_t{1} << 20});
  b.node("ConstantOfShape", {"s"}, {"c"}).node("Add", {"x", "c"}, {"y"}).output("y");
  expect_error(ErrorCode::InvalidModel, {"ConstantOfShape_c", "too many elements"}, [&] { inferred(b); });
  ModelBuilder e(13);
  e.input("x", {1});
  for (const auto& [name, value] : std::vector<std::pair<std::string, float>>{{"a", 0}, {"e", 1e9f}, {"d", 0.5f}}) {
    *e.graph().add_initializer() = testing::tensor<float>(name, onnx::TensorProto::FLOAT, {}, {value});
  }
  e.node("Range", {"a", "e", "d"}, {"r"}).node("Add", {"x", "r"}, {"y"}).output("y");
  expect_error(ErrorCode::Unsupported, {"Range_r", "2^22"}, [&] { inferred(e); });
  ModelBuilder c;
  c.input("x", {1}).integers("s", {std::int64_t{1} << 30, std::int64_t{1} << 30}).node("Expand", {"x", "s"}, {"y"});
  c.output("y");
  expect_error(ErrorCode::InvalidModel, {"Expand_y"}, [&] { inferred(c); });
}

// --- attributes and inputs across opsets -----------------------------------------------------------------------------

/// Evaluates a model of one input x by the definitions of its operators.
std::vector<double> run(const ModelBuilder& b, const std::vector<double>& x) {
  Graph g = optimise(b.import(), {});
  const ops::TensorType type{g.value(g.inputs[0]).dtype, g.sizes(g.inputs[0])};
  return evaluate(g, {{"x", ops::TensorValue::from_numbers(type, x)}})[0].numbers();
}

TEST(Opsets, Clip) {
  for (int opset = kOldestOpset; opset <= kNewestOpset; ++opset) {
    ModelBuilder b(opset);
    b.input("x", {4});
    if (opset < 11) {
      b.node("Clip", {"x"}, {"y"}, attribute("min", -1.0f), attribute("max", 2.0f));
    } else {
      b.floats("lo", {}, {-1}).floats("hi", {}, {2}).node("Clip", {"x", "lo", "hi"}, {"y"});
    }
    b.output("y");
    EXPECT_EQ(run(b, {-3, 0.5, 1, 7}), (std::vector<double>{-1, 0.5, 1, 2})) << opset;
  }
}

TEST(Opsets, ClipWithOneBound) {
  ModelBuilder b(13);
  b.input("x", {3}).floats("hi", {}, {2}).node("Clip", {"x", "", "hi"}, {"y"}).output("y");
  EXPECT_EQ(run(b, {-3, 0.5, 7}), (std::vector<double>{-3, 0.5, 2}));
}

TEST(Opsets, SqueezeAndUnsqueeze) {
  for (const int opset : {6, 11, 12, 13, 21, 25}) {
    ModelBuilder b(opset);
    b.input("x", {1, 2, 1});
    if (opset < 13) {
      b.node("Squeeze", {"x"}, {"s"}, attribute("axes", Axes{0, 2}));
      b.node("Unsqueeze", {"s"}, {"u"}, attribute("axes", Axes{1}));
    } else {
      b.integers("a", {0, -1}).integers("c", {1});
      b.node("Squeeze", {"x", "a"}, {"s"}).node("Unsqueeze", {"s", "c"}, {"u"});
    }
    b.output("u");
    EXPECT_EQ(inferred(b).type, "f32[2,1]") << opset;
  }
}

TEST(Opsets, SliceAttributesBeforeTen) {
  for (const int opset : {6, 9, 10, 13, 25}) {
    ModelBuilder b(opset);
    b.input("x", {6});
    if (opset < 10) {
      b.node("Slice", {"x"}, {"y"}, attribute("starts", Axes{1}), attribute("ends", Axes{5}),
             attribute("axes", Axes{0}));
    } else {
      b.integers("s", {1}).integers("e", {5}).integers("a", {0}).node("Slice", {"x", "s", "e", "a"}, {"y"});
    }
    b.output("y");
    EXPECT_EQ(run(b, {0, 1, 2, 3, 4, 5}), (std::vector<double>{1, 2, 3, 4})) << opset;
  }
}

TEST(Opsets, SliceWithStepsAndOpenEnds) {
  ModelBuilder b(13);
  b.input("x", {6})
      .integers("s", {-1})
      .integers("e", {std::numeric_limits<std::int64_t>::min()})
      .integers("a", {0})
      .integers("d", {-2})
      .node("Slice", {"x", "s", "e", "a", "d"}, {"y"})
      .output("y");
  EXPECT_EQ(run(b, {0, 1, 2, 3, 4, 5}), (std::vector<double>{5, 3, 1}));
}

TEST(Opsets, PadAttributesBeforeEleven) {
  for (const int opset : {6, 10, 11, 13, 18, 25}) {
    ModelBuilder b(opset);
    b.input("x", {2});
    if (opset < 11) {
      b.node("Pad", {"x"}, {"y"}, attribute("pads", Axes{1, 2}), attribute("value", 9.0f));
    } else {
      b.integers("p", {1, 2}).floats("v", {}, {9}).node("Pad", {"x", "p", "v"}, {"y"});
    }
    b.output("y");
    EXPECT_EQ(run(b, {1, 2}), (std::vector<double>{9, 1, 2, 9, 9})) << opset;
  }
}

TEST(Opsets, ReduceAxes) {
  for (const int opset : {6, 11, 12, 13, 17, 18, 25}) {
    for (const std::string op : {"ReduceSum", "ReduceMax"}) {
      const int moved = op == "ReduceSum" ? 13 : 18;
      ModelBuilder b(opset);
      b.input("x", {2, 2});
      if (opset < moved) {
        b.node(op, {"x"}, {"y"}, attribute("axes", Axes{1}), attribute("keepdims", 0));
      } else {
        b.integers("a", {1}).node(op, {"x", "a"}, {"y"}, attribute("keepdims", 0));
      }
      b.output("y");
      const std::vector<double> expected = op == "ReduceSum" ? std::vector<double>{3, 7} : std::vector<double>{2, 4};
      EXPECT_EQ(run(b, {1, 2, 3, 4}), expected) << op << " " << opset;
    }
  }
}

TEST(Opsets, ReshapeZeroAndMinusOne) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 4}).integers("s", {0, -1, 2}).node("Reshape", {"x", "s"}, {"y"}).output("y");
  EXPECT_EQ(inferred(b).type, "f32[2,6,2]");
  ModelBuilder c(14);
  c.input("x", {2, 3}).integers("s", {-1, -1}).node("Reshape", {"x", "s"}, {"y"}).output("y");
  expect_error(ErrorCode::InvalidModel, {"Reshape_y"}, [&] { inferred(c); });
  ModelBuilder d(14);
  d.input("x", {2, 3}).integers("s", {4, 2}).node("Reshape", {"x", "s"}, {"y"}).output("y");
  expect_error(ErrorCode::InvalidModel, {"Reshape_y"}, [&] { inferred(d); });
}

TEST(Opsets, SoftmaxFlattensBeforeThirteen) {
  // With equal inputs, the result is one over the number of elements that are normalised together.
  const auto first = [](int opset, std::int64_t axis) {
    ModelBuilder b(opset);
    b.input("x", {2, 2, 4}).node("Softmax", {"x"}, {"y"}, attribute("axis", axis)).output("y");
    return run(b, std::vector<double>(16, 0.0))[0];
  };
  EXPECT_DOUBLE_EQ(first(11, 1), 1.0 / 8);
  EXPECT_DOUBLE_EQ(first(13, 1), 1.0 / 2);
  EXPECT_DOUBLE_EQ(first(11, 2), 1.0 / 4);
  EXPECT_DOUBLE_EQ(first(13, 2), 1.0 / 4);
}

TEST(Opsets, DropoutIsRemovedInEveryForm) {
  for (const int opset : {7, 10, 12, 13, 22}) {
    ModelBuilder b(opset);
    b.input("x", {2});
    if (opset < 12) {
      b.node("Dropout", {"x"}, {"d", "mask"}, attribute("ratio", 0.3f));
    } else {
      b.floats("r", {}, {0.3f}).node("Dropout", {"x", "r"}, {"d"});
    }
    b.node("Relu", {"d"}, {"y"}).output("y");
    EXPECT_EQ(operators(optimise(b.import(), {})), "Relu") << opset;
  }
  ModelBuilder c(13);
  c.input("x", {2}).floats("r", {}, {0.3f});
  *c.graph().add_initializer() = testing::tensor<char>("t", onnx::TensorProto::BOOL, {}, {1});
  c.node("Dropout", {"x", "r", "t"}, {"y"}).output("y");
  expect_error(ErrorCode::Unsupported, {"training", "Dropout_y"}, [&] { optimise(c.import(), {}); });
}

}  // namespace
}  // namespace temper::graph
