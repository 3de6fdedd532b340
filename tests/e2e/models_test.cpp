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
  refused("none.onnx", {"none.onnx", "hint:"}, 1);
  fs::create_directory(file("folder.onnx"));
  expect_error_with({"run", "folder.onnx"}, 2, {"the model is not a regular file", "at: folder.onnx"});
}

TEST_F(BadModels, Empty) { refused(write("empty.onnx", ""), {"empty", "at: empty.onnx", "hint:"}); }

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
  refused(write("cyclic.onnx", b), {"cycle", "Add_q"});
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
  refused(write("external.onnx", b), {"weights.bin", "hint:"});
}

TEST_F(BadModels, UnknownOperatorsAreAllListed) {
  ModelBuilder b;
  b.input("x", {std::int64_t{4}});
  b.node("Wobble", {"x"}, {"p"});
  b.node("Wibble", {"p"}, {"q"});
  b.node("Wobble", {"q"}, {"y"});
  b.output("y");
  refused(write("unknown.onnx", b), {"Wibble", "Wobble"});
  expect_error_with({"run", "unknown.onnx"}, 2, {"Wobble_p", "Wobble_y"});
}

TEST_F(BadModels, WrongShape) {
  ModelBuilder b;
  b.input("x", {std::int64_t{2}, std::int64_t{3}});
  b.floats("w", {4, 5}, std::vector<float>(20, 1.0F));
  b.node("MatMul", {"x", "w"}, {"y"});
  b.output("y");
  refused(write("shape.onnx", b), {"MatMul_y"});
}

TEST_F(BadModels, UnknownSizesAreAskedFor) {
  ModelBuilder b;
  b.input("x", {std::string("batch"), std::int64_t{3}});
  b.node("Relu", {"x"}, {"y"});
  b.output("y");
  refused(write("symbolic.onnx", b),
          {"the shape of these inputs is not fixed: x[batch,3]", "hint:", "--shape NAME=1,3,224,224"});
  EXPECT_EQ(temper({"explain", "symbolic.onnx", "--shape", "x=2,3"}).code, 0);
  expect_error_with({"run", "symbolic.onnx", "--shape", "x=2,4"}, 2, {"x"});
  expect_error_with({"run", "symbolic.onnx", "--shape", "z=2,3"}, 2, {"z"});
  expect_error_with({"run", "symbolic.onnx", "--shape", "x"}, 2, {"x"});
}

TEST_F(BadModels, NegativeZeroAndHugeDimensions) {
  for (const std::int64_t size : {std::int64_t{-4}, std::int64_t{0}, std::int64_t{1} << 62}) {
    ModelBuilder b;
    b.input("x", {size, std::int64_t{4}});
    b.node("Relu", {"x"}, {"y"});
    b.output("y");
    refused(write("dims.onnx", b), {"x"});
  }
  ModelBuilder b;
  b.input("x", {std::int64_t{4}});
  b.graph().add_initializer()->CopyFrom(
      graph::testing::tensor<float>("w", onnx::TensorProto::FLOAT, {-1, 4}, {1, 2, 3, 4}));
  b.node("Add", {"x", "w"}, {"y"});
  b.output("y");
  refused(write("constant.onnx", b), {"w"});
}

TEST_F(BadModels, MoreMemoryThanThereIs) {
  // 2^40 elements pass every check of the file; what they need does not fit.
  ModelBuilder b;
  b.input("x", {std::int64_t{1} << 20, std::int64_t{1} << 20});
  b.node("Relu", {"x"}, {"y"});
  b.output("y");
  const Outcome outcome = temper({"run", write("large.onnx", b)});
  EXPECT_EQ(outcome.signal, 0) << outcome;
  EXPECT_THAT(outcome.code, ::testing::AnyOf(1, 2)) << outcome;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("memory")) << outcome;
}

}  // namespace
}  // namespace temper::e2e
