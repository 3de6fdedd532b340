// Every kind of bad model gives a clear error; every way to store a tensor is read.
#include "temper/graph/onnx_import.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "graph/expect_error.h"
#include "graph/model_builder.h"
#include "runtime/temporary_folder.h"

namespace temper::graph {
namespace {

using testing::attribute;
using testing::expect_error;
using testing::ModelBuilder;
using testing::tensor;

/// y = Relu(x)
ModelBuilder relu_model(int opset = 17) {
  ModelBuilder b(opset);
  b.input("x", {1, 3}).node("Relu", {"x"}, {"y"}).output("y");
  return b;
}

using ::temper::testing::TemporaryFolder;

void write(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  std::filesystem::create_directories((folder / name).parent_path());
  std::ofstream(folder / name, std::ios::binary) << text;
}

TEST(ImportFile, MissingFileIsNamed) {
  expect_error(ErrorCode::NotFound, {"no such model", "nowhere.onnx"}, [] { import_onnx("/nowhere/nowhere.onnx"); });
}

TEST(ImportFile, FolderIsNoModel) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::InvalidModel, {"not a regular file"}, [&] { import_onnx(folder.path()); });
}

TEST(ImportFile, ReadsAFile) {
  const TemporaryFolder folder;
  write(folder, "m.onnx", relu_model().model.SerializeAsString());
  EXPECT_EQ(import_onnx(folder / "m.onnx").nodes.size(), 1u);
}

TEST(ImportFile, EmptyFile) {
  const TemporaryFolder folder;
  write(folder, "m.onnx", "");
  expect_error(ErrorCode::InvalidModel, {"empty", "m.onnx"}, [&] { import_onnx(folder / "m.onnx"); });
}

TEST(ImportFile, NonOnnxBytes) {
  const TemporaryFolder folder;
  write(folder, "m.onnx", "#!/bin/sh\necho this is no model\n");
  expect_error(ErrorCode::InvalidModel, {"m.onnx", "not"}, [&] { import_onnx(folder / "m.onnx"); });
  write(folder, "p.onnx", std::string("\x89PNG\r\n\x1a\n", 8));
  expect_error(ErrorCode::InvalidModel, {"p.onnx", "not"}, [&] { import_onnx(folder / "p.onnx"); });
}

TEST(ImportFile, TruncatedModel) {
  ModelBuilder b = relu_model();
  b.floats("w", {100}, std::vector<float>(100, 1.0f));
  std::vector<std::byte> bytes = b.bytes();
  bytes.resize(bytes.size() / 2);
  expect_error(ErrorCode::InvalidModel, {"not a readable ONNX model", "truncated"},
               [&] { import_onnx(bytes, {}, "m.onnx"); });
}

TEST(ImportHeader, NoGraph) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  const std::string text = model.SerializeAsString();
  expect_error(ErrorCode::InvalidModel, {"no ONNX graph"},
               [&] { import_onnx(std::as_bytes(std::span(text)), {}, "m.onnx"); });
}

TEST(ImportHeader, OpsetsOutsideTheRangeAreRefused) {
  for (const int opset : {1, 5, 26, 1000}) {
    expect_error(ErrorCode::Unsupported, {"operator set " + std::to_string(opset), "6 to 25"},
                 [&] { relu_model(opset).import(); });
  }
  for (int opset = kOldestOpset; opset <= kNewestOpset; ++opset) EXPECT_EQ(relu_model(opset).import().opset, opset);
}

TEST(ImportHeader, NoOperatorSet) {
  ModelBuilder b = relu_model();
  b.model.clear_opset_import();
  expect_error(ErrorCode::InvalidModel, {"no ONNX operator set"}, [&] { b.import(); });
}

TEST(ImportHeader, GraphWithoutNodesOrOutputs) {
  ModelBuilder b = relu_model();
  b.graph().clear_node();
  expect_error(ErrorCode::InvalidModel, {"no nodes"}, [&] { b.import(); });
  ModelBuilder c = relu_model();
  c.graph().clear_output();
  expect_error(ErrorCode::InvalidModel, {"no outputs"}, [&] { c.import(); });
}

TEST(ImportGraph, CycleIsShown) {
  ModelBuilder b;
  b.input("x", {4})
      .node("Add", {"x", "c"}, {"a"})
      .node("Relu", {"a"}, {"b"})
      .node("Exp", {"b"}, {"c"})
      .node("Neg", {"c"}, {"y"})
      .output("y");
  expect_error(ErrorCode::InvalidModel, {"cycle", "Add_a -> Relu_b -> Exp_c"}, [&] { b.import(); });
}

TEST(ImportGraph, NodeThatReadsItself) {
  ModelBuilder b;
  b.input("x", {4}).node("Add", {"x", "a"}, {"a"}).output("a");
  expect_error(ErrorCode::InvalidModel, {"cycle", "Add_a -> Add_a"}, [&] { b.import(); });
}

TEST(ImportGraph, UnsortedNodesAreSorted) {
  ModelBuilder b;
  b.input("x", {4}).node("Exp", {"a"}, {"y"}).node("Relu", {"x"}, {"a"}).output("y");
  const Graph g = b.import();
  EXPECT_EQ(g.nodes[0].op, "Relu");
  EXPECT_EQ(g.nodes[1].op, "Exp");
}

TEST(ImportGraph, UndefinedInput) {
  ModelBuilder b;
  b.input("x", {4}).node("Add", {"x", "ghost"}, {"y"}).output("y");
  expect_error(ErrorCode::InvalidModel, {"'ghost'", "nothing defines", "Add_y"}, [&] { b.import(); });
}

TEST(ImportGraph, UndefinedOutput) {
  ModelBuilder b = relu_model();
  b.output("z");
  expect_error(ErrorCode::InvalidModel, {"nothing defines this graph output", "'z'"}, [&] { b.import(); });
}

TEST(ImportGraph, DuplicateNames) {
  ModelBuilder b = relu_model();
  b.node("Exp", {"x"}, {"y"});
  expect_error(ErrorCode::InvalidModel, {"'y' is defined twice"}, [&] { b.import(); });
  ModelBuilder c = relu_model();
  c.floats("w", {1}, {1}).floats("w", {1}, {2});
  expect_error(ErrorCode::InvalidModel, {"'w' is defined twice"}, [&] { c.import(); });
  ModelBuilder d = relu_model();
  d.input("x", {1, 3});
  expect_error(ErrorCode::InvalidModel, {"two graph inputs", "'x'"}, [&] { d.import(); });
  ModelBuilder e = relu_model();
  e.output("y");
  expect_error(ErrorCode::InvalidModel, {"two graph outputs", "'y'"}, [&] { e.import(); });
  ModelBuilder f = relu_model();
  f.node("Exp", {"y"}, {"x"});
  expect_error(ErrorCode::InvalidModel, {"'x' is defined twice"}, [&] { f.import(); });
}

TEST(ImportGraph, InitializerListedAsInputIsAConstant) {
  ModelBuilder b;
  b.input("x", {2}).input("w", {2}).floats("w", {2}, {1, 2}).node("Add", {"x", "w"}, {"y"}).output("y");
  const Graph g = b.import();
  EXPECT_EQ(g.inputs.size(), 1u);
  EXPECT_TRUE(g.value(g.nodes[0].inputs[1]).is_constant());
}

TEST(ImportGraph, NamesMustBeText) {
  ModelBuilder b = relu_model();
  b.last_node().set_name("bad\xff");
  expect_error(ErrorCode::InvalidModel, {"not UTF-8"}, [&] { b.import(); });
  ModelBuilder c = relu_model();
  c.graph().mutable_input(0)->set_name(std::string("a\0b", 3));
  expect_error(ErrorCode::InvalidModel, {"not UTF-8", "graph input"}, [&] { c.import(); });
  ModelBuilder d = relu_model();
  d.last_node().set_name("Knoten/ä:1");
  EXPECT_EQ(d.import().nodes[0].name, "Knoten/ä:1");
}

TEST(ImportGraph, UnnamedNodesGetUniqueNames) {
  ModelBuilder b;
  b.input("x", {2}).node("Relu", {"x"}, {"a"}).node("Relu", {"a"}, {"y"}).output("y");
  for (onnx::NodeProto& node : *b.graph().mutable_node()) node.clear_name();
  const Graph g = b.import();
  EXPECT_EQ(g.nodes[0].name, "Relu#0");
  EXPECT_EQ(g.nodes[1].name, "Relu#1");
}

TEST(ImportOperators, AllUnknownOnesAreListedWithTheirNodes) {
  ModelBuilder b;
  b.input("x", {4})
      .node("Foo", {"x"}, {"a"})
      .node("Relu", {"a"}, {"b"})
      .node("Bar", {"b"}, {"c"})
      .node("Foo", {"c"}, {"y"})
      .output("y");
  expect_error(ErrorCode::Unsupported, {"Foo: Foo_a, Foo_y", "Bar: Bar_c"}, [&] { b.import(); });
}

TEST(ImportOperators, CustomDomainsAreListed) {
  ModelBuilder b = relu_model();
  b.last_node().set_domain("com.example");
  expect_error(ErrorCode::Unsupported, {"com.example::Relu: Relu_y"}, [&] { b.import(); });
  ModelBuilder c = relu_model();
  c.last_node().set_domain("ai.onnx");
  EXPECT_EQ(c.import().nodes.size(), 1u);
}

TEST(ImportOperators, ControlFlowIsRefused) {
  ModelBuilder b = relu_model();
  onnx::AttributeProto* a = b.last_node().add_attribute();
  a->set_name("body");
  a->set_type(onnx::AttributeProto::GRAPH);
  a->mutable_g()->set_name("inner");
  expect_error(ErrorCode::Unsupported, {"control flow", "Relu_y", "'body'"}, [&] { b.import(); });
}

TEST(ImportTypes, UnsupportedElementTypesAreNamed) {
  const std::vector<std::pair<int, std::string>> types{{onnx::TensorProto::FLOAT16, "float16"},
                                                       {onnx::TensorProto::BFLOAT16, "bfloat16"},
                                                       {onnx::TensorProto::STRING, "string"},
                                                       {onnx::TensorProto::COMPLEX64, "complex64"},
                                                       {17, "float8e4m3fn"},
                                                       {22, "int4"}};
  for (const auto& [number, name] : types) {
    ModelBuilder b;
    b.input("x", {1, 3}, number).node("Relu", {"x"}, {"y"}).output("y");
    expect_error(ErrorCode::Unsupported, {name, "input 'x'"}, [&] { b.import(); });
    ModelBuilder c = relu_model();
    *c.graph().add_initializer() = tensor<float>("w", number, {1}, {1});
    expect_error(ErrorCode::Unsupported, {name, "initializer 'w'"}, [&] { c.import(); });
  }
}

TEST(ImportTypes, NumbersThatAreNoElementType) {
  for (const int number : {0, -1, 99}) {
    ModelBuilder b;
    b.input("x", {1, 3}, number).node("Relu", {"x"}, {"y"}).output("y");
    expect_error(ErrorCode::InvalidModel, {"element type " + std::to_string(number)}, [&] { b.import(); });
  }
}

TEST(ImportTypes, SequencesAreRefused) {
  ModelBuilder b = relu_model();
  b.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  expect_error(ErrorCode::Unsupported, {"only tensors", "input 'x'"}, [&] { b.import(); });
}

TEST(ImportShapes, SymbolsAndUnknowns) {
  ModelBuilder b;
  b.input("x", {"batch", 3, -1}).node("Relu", {"x"}, {"y"}).output("y");
  const Graph g = b.import();
  EXPECT_EQ(to_string(*g.value(g.inputs[0]).shape), "[batch,3,?]");
}

TEST(ImportShapes, NegativeZeroAndHugeDimensionsOfInputs) {
  ModelBuilder zero;
  zero.input("x", {1, std::int64_t{0}}).node("Relu", {"x"}, {"y"}).output("y");
  expect_error(ErrorCode::Unsupported, {"size 0", "input 'x'", "without elements"}, [&] { zero.import(); });
  for (const std::int64_t size : {std::int64_t{-2}, std::numeric_limits<std::int64_t>::min()}) {
    ModelBuilder b;
    b.input("x", {1, size}).node("Relu", {"x"}, {"y"}).output("y");
    expect_error(ErrorCode::InvalidModel, {"size " + std::to_string(size), "input 'x'"}, [&] { b.import(); });
  }
  ModelBuilder c;
  c.input("x", {std::int64_t{1} << 30, std::int64_t{1} << 30}).node("Relu", {"x"}, {"y"}).output("y");
  expect_error(ErrorCode::InvalidModel, {"too large", "input 'x'"}, [&] { c.import(); });
}

TEST(ImportShapes, NegativeAndHugeDimensionsOfConstants) {
  ModelBuilder b = relu_model();
  b.floats("w", {-3}, {1, 2, 3});
  expect_error(ErrorCode::InvalidModel, {"negative", "initializer 'w'"}, [&] { b.import(); });
  ModelBuilder c = relu_model();
  c.floats("w", {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max()}, {1});
  expect_error(ErrorCode::InvalidModel, {"too many elements", "initializer 'w'"}, [&] { c.import(); });
  // A size that fits, but not the data: refused before any memory of that size is asked for.
  ModelBuilder d = relu_model();
  d.floats("w", {std::int64_t{1} << 39}, {1});
  expect_error(ErrorCode::InvalidModel, {"holds 4 bytes", "initializer 'w'"}, [&] { d.import(); });
}

TEST(ImportTensors, EveryTypedField) {
  ModelBuilder b = relu_model();
  const auto add = [&](const std::string& name, int dtype) {
    onnx::TensorProto* t = b.graph().add_initializer();
    t->set_name(name);
    t->set_data_type(dtype);
    t->add_dims(2);
    return t;
  };
  onnx::TensorProto* f = add("f", onnx::TensorProto::FLOAT);
  f->add_float_data(1.5f);
  f->add_float_data(-2);
  onnx::TensorProto* d = add("d", onnx::TensorProto::DOUBLE);
  d->add_double_data(1e300);
  d->add_double_data(-2);
  onnx::TensorProto* l = add("l", onnx::TensorProto::INT64);
  l->add_int64_data(std::int64_t{1} << 40);
  l->add_int64_data(-2);
  for (const auto& [name, dtype] :
       std::vector<std::pair<std::string, int>>{{"i32", onnx::TensorProto::INT32}, {"i8", onnx::TensorProto::INT8}}) {
    onnx::TensorProto* t = add(name, dtype);
    t->add_int32_data(7);
    t->add_int32_data(-2);
  }
  onnx::TensorProto* u = add("u8", onnx::TensorProto::UINT8);
  u->add_int32_data(255);
  u->add_int32_data(0);
  onnx::TensorProto* bits = add("bool", onnx::TensorProto::BOOL);
  bits->add_int32_data(1);
  bits->add_int32_data(0);
  // Keep the constants alive: nothing else reads them.
  const Graph g = b.import();
  const auto numbers = [&](const std::string& name) {
    for (const Value& v : g.values) {
      if (v.name == name) return v.data->numbers();
    }
    return std::vector<double>{};
  };
  EXPECT_EQ(numbers("f"), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(numbers("d"), (std::vector<double>{1e300, -2}));
  EXPECT_EQ(numbers("l"), (std::vector<double>{1099511627776.0, -2}));
  EXPECT_EQ(numbers("i32"), (std::vector<double>{7, -2}));
  EXPECT_EQ(numbers("i8"), (std::vector<double>{7, -2}));
  EXPECT_EQ(numbers("u8"), (std::vector<double>{255, 0}));
  EXPECT_EQ(numbers("bool"), (std::vector<double>{1, 0}));
}

TEST(ImportTensors, WrongElementCounts) {
  ModelBuilder b = relu_model();
  b.floats("w", {3}, {1, 2});
  expect_error(ErrorCode::InvalidModel, {"8 bytes where it needs 12", "initializer 'w'"}, [&] { b.import(); });
  ModelBuilder c = relu_model();
  onnx::TensorProto* t = c.graph().add_initializer();
  t->set_name("w");
  t->set_data_type(onnx::TensorProto::FLOAT);
  t->add_dims(2);
  t->add_float_data(1);
  expect_error(ErrorCode::InvalidModel, {"1 elements where its shape needs 2"}, [&] { c.import(); });
}

TEST(ImportConstants, EveryKindOfConstantNode) {
  ModelBuilder b;
  b.input("x", {2});
  onnx::AttributeProto value;
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = tensor<float>("", onnx::TensorProto::FLOAT, {2}, {3, 4});
  onnx::AttributeProto floats;
  floats.set_name("value_floats");
  floats.set_type(onnx::AttributeProto::FLOATS);
  floats.add_floats(5);
  b.node("Constant", {}, {"a"}, value)
      .node("Constant", {}, {"b"}, attribute("value_float", 2.5f))
      .node("Constant", {}, {"c"}, attribute("value_int", 7))
      .node("Constant", {}, {"d"}, attribute("value_ints", std::vector<std::int64_t>{8, 9}))
      .node("Constant", {}, {"e"}, floats)
      .node("Add", {"x", "a"}, {"y"})
      .output("y");
  const Graph g = b.import();
  ASSERT_EQ(g.nodes.size(), 1u);
  std::vector<std::vector<double>> found;
  for (const Value& v : g.values) {
    if (v.is_constant()) found.push_back(v.data->numbers());
  }
  EXPECT_EQ(found, (std::vector<std::vector<double>>{{3, 4}, {2.5}, {7}, {8, 9}, {5}}));
  ModelBuilder c;
  c.node("Constant", {}, {"y"}, attribute("value_string", std::string("text"))).output("y");
  expect_error(ErrorCode::Unsupported, {"kind of Constant", "Constant_y"}, [&] { c.import(); });
}

// --- external data ---------------------------------------------------------------------------------------------------

ModelBuilder external_model(const std::string& location, const std::string& offset, const std::string& length) {
  ModelBuilder b;
  b.input("x", {2}).node("Add", {"x", "w"}, {"y"}).output("y");
  onnx::TensorProto* t = b.graph().add_initializer();
  t->set_name("w");
  t->set_data_type(onnx::TensorProto::FLOAT);
  t->add_dims(2);
  t->set_data_location(onnx::TensorProto::EXTERNAL);
  const auto entry = [&](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    auto* e = t->add_external_data();
    e->set_key(key);
    e->set_value(value);
  };
  entry("location", location);
  entry("offset", offset);
  entry("length", length);
  return b;
}

std::string float_bytes(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

TEST(ImportExternal, ReadsOffsetAndLength) {
  const TemporaryFolder folder;
  write(folder, "sub/w.bin", float_bytes({0, 1, 2, 3}));
  const auto weights = [&](const std::string& offset, const std::string& length) {
    const Graph g = external_model("sub/w.bin", offset, length).import(folder.path());
    return g.value(g.nodes[0].inputs[1]).data->numbers();
  };
  EXPECT_EQ(weights("", ""), (std::vector<double>{0, 1}));
  EXPECT_EQ(weights("4", ""), (std::vector<double>{1, 2}));
  EXPECT_EQ(weights("8", "8"), (std::vector<double>{2, 3}));
}

TEST(ImportExternal, BadLocations) {
  const TemporaryFolder folder;
  write(folder, "model/w.bin", float_bytes({0, 1}));
  write(folder, "secret.bin", float_bytes({0, 1}));
  std::filesystem::create_symlink(folder / "secret.bin", folder / "model/link.bin");
  const std::filesystem::path base = folder / "model";
  expect_error(ErrorCode::InvalidModel, {"'gone.bin' is missing", "initializer 'w'"},
               [&] { external_model("gone.bin", "", "").import(base); });
  expect_error(ErrorCode::InvalidModel, {"names no file"}, [&] { external_model("", "", "").import(base); });
  for (const std::string& path :
       {std::string("../secret.bin"), (folder / "secret.bin").string(), std::string("a/../../secret.bin")}) {
    expect_error(ErrorCode::InvalidModel, {"outside the model's folder"},
                 [&] { external_model(path, "", "").import(base); });
  }
  expect_error(ErrorCode::InvalidModel, {"outside the model's folder", "link"},
               [&] { external_model("link.bin", "", "").import(base); });
}

TEST(ImportExternal, BadSizes) {
  const TemporaryFolder folder;
  write(folder, "w.bin", float_bytes({0, 1}));
  const auto import = [&](const std::string& offset, const std::string& length) {
    external_model("w.bin", offset, length).import(folder.path());
  };
  expect_error(ErrorCode::InvalidModel, {"too short", "8 bytes at 4 of 8"}, [&] { import("4", ""); });
  expect_error(ErrorCode::InvalidModel, {"too short"}, [&] { import("9223372036854775807", ""); });
  expect_error(ErrorCode::InvalidModel, {"offset '-4'"}, [&] { import("-4", ""); });
  expect_error(ErrorCode::InvalidModel, {"offset '4x'"}, [&] { import("4x", ""); });
  expect_error(ErrorCode::InvalidModel, {"4 bytes where the shape needs 8"}, [&] { import("", "4"); });
}

TEST(ImportAttributes, AllKindsArrive) {
  ModelBuilder b = relu_model();
  *b.last_node().add_attribute() = attribute("i", 3);
  *b.last_node().add_attribute() = attribute("f", 0.5f);
  *b.last_node().add_attribute() = attribute("s", std::string("same"));
  *b.last_node().add_attribute() = attribute("is", std::vector<std::int64_t>{1, 2});
  const Graph g = b.import();
  const ops::Attributes& a = g.nodes[0].attributes;
  EXPECT_EQ(a.integer("i"), 3);
  EXPECT_EQ(a.number("f", 0), 0.5);
  EXPECT_EQ(a.text("s", ""), "same");
  EXPECT_EQ(a.integers("is"), (std::vector<std::int64_t>{1, 2}));
}

TEST(ImportAttributes, TypeIsGuessedForOldFiles) {
  ModelBuilder b = relu_model();
  onnx::AttributeProto* a = b.last_node().add_attribute();
  a->set_name("axis");
  a->set_i(2);
  EXPECT_EQ(b.import().nodes[0].attributes.integer("axis"), 2);
}

TEST(ImportAttributes, TwiceIsAnError) {
  ModelBuilder b = relu_model();
  *b.last_node().add_attribute() = attribute("i", 3);
  *b.last_node().add_attribute() = attribute("i", 4);
  expect_error(ErrorCode::InvalidModel, {"'i' is given twice", "Relu_y"}, [&] { b.import(); });
}

}  // namespace
}  // namespace temper::graph
