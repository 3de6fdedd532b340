// Bad models through the command line: what, where, how to mend it, exit code 2, and never a crash.
#include <gmock/gmock.h>

#include "e2e/command.h"
#include "e2e/sample_model.h"
#include "graph/model_builder.h"

namespace temper::e2e {
namespace {

using graph::testing::ModelBuilder;
using store::testing::write_file;

class BadModels : public Programs {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    write_file(file(name), bytes);
    return name;
  }
  std::string write(const std::string& name, const ModelBuilder& model) const {
    return write(name, model.model.SerializeAsString());
  }
  /// Every command that reads a model refuses it in the same way.
  void refused(const std::string& model, const std::vector<std::string>& parts, int code = 2) const {
    const std::vector<std::vector<std::string>> commands = {
        {"tune", model}, {"build", model, "-o", "m.temper"}, {"run", model}, {"bench", model}, {"explain", model}};
    for (const std::vector<std::string>& command : commands) expect_error_with(command, code, parts);
    EXPECT_FALSE(fs::exists(file("m.temper")));
    EXPECT_FALSE(fs::exists(file("temper.db"))) << "a model that cannot be read makes no database";
  }
};

TEST_F(BadModels, MissingAndUnreadable) {
  refused("none.onnx", {"none.onnx", "hint:"}, 2);
  fs::create_directory(file("folder.onnx"));
  expect_error_with({"run", "folder.onnx"}, 2, {"the model is not a regular file", "at: folder.onnx"});
}

TEST_F(BadModels, Empty) { refused(write("empty.onnx", ""), {"empty", "at: empty.onnx", "hint:"}); }

TEST_F(BadModels, CutShort) {
  const std::string whole = sample_model().model.SerializeAsString();
  refused(write("half.onnx", whole.substr(0, whole.size() / 2)),
          {"the file is not a readable ONNX model", "at: half.onnx",
           "hint: it is truncated, damaged, or of another format"});
}

TEST_F(BadModels, NoOnnx) { refused(write("text.onnx", "this is a text and no model\n"), {"at: text.onnx", "hint:"}); }

TEST_F(BadModels, Truncated) {
  const std::string whole = sample_model().model.SerializeAsString();
  // At every length: an error or, where protobuf's fields end, a model that lacks something; never a crash.
  for (std::size_t size = 1; size < whole.size(); size += 37) {
    const Outcome outcome = temper({"explain", write("cut.onnx", whole.substr(0, size))});
    EXPECT_EQ(outcome.code, 2) << size << ": " << outcome;
    EXPECT_THAT(outcome.err, ::testing::HasSubstr("temper: ")) << size;
  }
}

TEST_F(BadModels, Cyclic) {
  ModelBuilder b;
  b.input("x", {std::int64_t{4}});
  b.node("Add", {"x", "p"}, {"q"});
  b.node("Relu", {"q"}, {"p"});
  b.output("p");
  refused(write("cyclic.onnx", b),
          {"the graph has a cycle: Relu_p -> Add_q -> Relu_p", "at: ", "hint: a model is a directed graph"});
}

TEST_F(BadModels, MissingExternalData) {
  ModelBuilder b;
  b.input("x", {std::int64_t{4}});
  onnx::TensorProto* tensor = b.graph().add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(4);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto* location = tensor->add_external_data();
  location->set_key("location");
  location->set_value("weights.bin");
  b.node("Add", {"x", "w"}, {"y"});
  b.output("y");
  refused(write("external.onnx", b),
          {"external data file 'weights.bin' is missing", "at: initializer 'w'", "hint: put it beside the model"});
}

TEST_F(BadModels, AnInitializerOfTheWrongLength) {
  ModelBuilder b;
  b.input("x", {std::int64_t{5}});
  b.graph().add_initializer()->CopyFrom(
      graph::testing::tensor<float>("w", onnx::TensorProto::FLOAT, {5}, {1, 2, 3, 4}));
  b.node("Add", {"x", "w"}, {"y"});
  b.output("y");
  refused(write("short.onnx", b), {"a tensor of shape [5] holds 16 bytes where it needs 20", "at: initializer 'w'",
                                   "hint: the file is damaged or was written wrongly"});
}

TEST_F(BadModels, AValueThatNothingDefines) {
  ModelBuilder b;
  b.input("x", {std::int64_t{4}});
  b.node("Add", {"x", "nothing"}, {"y"});
  b.output("y");
  refused(write("undefined.onnx", b),
          {"a node reads 'nothing', which nothing defines", "at: node 'Add_y' (Add)", "hint: an input, initializer"});
}

TEST_F(BadModels, UnknownOperatorsAreAllListed) {
  ModelBuilder b;
  b.input("x", {std::int64_t{4}});
  b.node("Wobble", {"x"}, {"p"});
  b.node("Wibble", {"p"}, {"q"});
  b.node("Wobble", {"q"}, {"y"});
  b.output("y");
  refused(write("unknown.onnx", b), {"Temper does not support", "Wibble: Wibble_q", "Wobble: Wobble_p, Wobble_y",
                                     "at: unknown.onnx", "hint: `docs/extending.md` shows how to add an operator"});
  expect_error_with({"run", "unknown.onnx"}, 2, {"Wobble_p", "Wobble_y"});
}

TEST_F(BadModels, WrongShape) {
  ModelBuilder b;
  b.input("x", {std::int64_t{2}, std::int64_t{3}});
  b.floats("w", {4, 5}, std::vector<float>(20, 1.0F));
  b.node("MatMul", {"x", "w"}, {"y"});
  b.output("y");
  const std::string hint = "hint: the model contradicts itself here, or the sizes given with --shape do not suit it";
  refused(write("shape.onnx", b),
          {"the inner sizes differ: f32[2,3] and f32[4,5] give 3 and 4", "at: node 'MatMul_y' (MatMul)", hint});
  ModelBuilder conv;
  conv.input("x", {std::int64_t{1}, std::int64_t{3}, std::int64_t{8}, std::int64_t{8}});
  conv.floats("w", {4, 5, 3, 3}, std::vector<float>(180, 1.0F));
  conv.node("Conv", {"x", "w"}, {"y"});
  conv.output("y");
  refused(write("conv.onnx", conv), {"do not fit 3 input channels", "at: node 'Conv_y' (Conv)", hint});
}

TEST_F(BadModels, UnknownSizesAreAskedFor) {
  ModelBuilder b;
  b.input("x", {std::string("batch"), std::int64_t{3}});
  b.node("Relu", {"x"}, {"y"});
  b.output("y");
  refused(write("symbolic.onnx", b),
          {"the shape of these inputs is not fixed: x[batch,3]", "hint:", "--shape NAME=1,3,224,224"});
  EXPECT_EQ(temper({"explain", "symbolic.onnx", "--shape", "x=2,3"}).code, 0);
  const std::vector<std::pair<std::string, std::vector<std::string>>> wrong = {
      {"x=2,4",
       {"dimension 1 of input 'x' is 3 in the model, 4 was given", "at: --shape x", "hint: the model declares x["}},
      {"x=2,3,4", {"input 'x' has 2 dimensions, 3 were given", "at: --shape x", "hint: the model declares x[batch,3]"}},
      {"z=2,3", {"the model has no input called 'z'", "at: --shape z", "hint: its inputs are x[batch,3]"}},
      {"x", {"'x' names no input", "at: --shape x", "hint: write it as --shape NAME=1,3,224,224"}},
      {"x=-2,3", {"'-2' is not a size", "at: --shape x=-2,3", "hint: write it as"}},
      {"x=0,3", {"'0' is not a size", "at: --shape x=0,3", "hint: write it as"}},
      {"x=4611686018427387904,3", {"too many elements", "x", "hint: "}}};
  for (const auto& [shape, parts] : wrong) expect_error_with({"run", "symbolic.onnx", "--shape", shape}, 2, parts);
}

TEST_F(BadModels, NegativeZeroAndHugeDimensions) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const std::string too_many = "hint: at most 2^40 elements a tensor are accepted";
  struct Case {
    std::int64_t rows, columns;
    std::vector<std::string> parts;
  };
  for (const Case& bad :
       {Case{-4, 4, {"a dimension has size -4", "at: input 'x'", "hint: sizes are at least 1"}},
        Case{0, 4, {"a dimension has size 0", "at: input 'x'", "hint: tensors without elements are not supported"}},
        Case{kHuge, 4, {"a tensor is too large: its dimension of 46", "at: input 'x'", too_many}},
        Case{std::int64_t{1} << 36,
             64,
             {"its dimension of 64 times the ones before it, 68719476736 elements", "at: input 'x'", too_many}}}) {
    ModelBuilder b;
    b.input("x", {bad.rows, bad.columns});
    b.node("Relu", {"x"}, {"y"});
    b.output("y");
    refused(write("dims.onnx", b), bad.parts);
  }
  ModelBuilder b;
  b.input("x", {std::int64_t{4}});
  b.graph().add_initializer()->CopyFrom(
      graph::testing::tensor<float>("w", onnx::TensorProto::FLOAT, {-1, 4}, {1, 2, 3, 4}));
  b.node("Add", {"x", "w"}, {"y"});
  b.output("y");
  refused(write("constant.onnx", b), {"a dimension is negative: [-1,4]", "at: initializer 'w'", "hint: "});
  ModelBuilder huge;
  huge.input("x", {std::int64_t{4}});
  huge.graph().add_initializer()->CopyFrom(
      graph::testing::tensor<float>("w", onnx::TensorProto::FLOAT, {std::int64_t{1} << 61, 8}, {1, 2, 3, 4}));
  huge.node("Add", {"x", "w"}, {"y"});
  huge.output("y");
  refused(write("huge.onnx", huge), {"too many elements", "at: initializer 'w'", "hint: at most 2^40"});
}

TEST_F(BadModels, MoreMemoryThanThereIs) {
  // 2^40 elements pass every check of the file; what they need does not fit.
  ModelBuilder b;
  b.input("x", {std::int64_t{1} << 20, std::int64_t{1} << 20});
  b.node("Relu", {"x"}, {"y"});
  b.output("y");
  const Outcome outcome = temper({"run", write("large.onnx", b)});
  EXPECT_EQ(outcome.signal, 0) << outcome;
  EXPECT_EQ(outcome.code, 1) << outcome;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("there is no memory for the 4398046511104 bytes of a tensor\n"
                                                "  at: tensor 'x'\n  hint: use smaller shapes"))
      << outcome;
}

}  // namespace
}  // namespace temper::e2e
