// Builds ONNX models as bytes, for tests.
#pragma once

#include <onnx/onnx.pb.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "temper/graph/onnx_import.h"

namespace temper::graph::testing {

/// A size or a symbol.
using Dim = std::variant<std::int64_t, std::string>;

inline onnx::AttributeProto attribute(const std::string& name, std::int64_t value) {
  onnx::AttributeProto a;
  a.set_name(name);
  a.set_type(onnx::AttributeProto::INT);
  a.set_i(value);
  return a;
}
inline onnx::AttributeProto attribute(const std::string& name, int value) {
  return attribute(name, static_cast<std::int64_t>(value));
}
inline onnx::AttributeProto attribute(const std::string& name, float value) {
  onnx::AttributeProto a;
  a.set_name(name);
  a.set_type(onnx::AttributeProto::FLOAT);
  a.set_f(value);
  return a;
}
inline onnx::AttributeProto attribute(const std::string& name, const std::string& value) {
  onnx::AttributeProto a;
  a.set_name(name);
  a.set_type(onnx::AttributeProto::STRING);
  a.set_s(value);
  return a;
}
inline onnx::AttributeProto attribute(const std::string& name, const std::vector<std::int64_t>& values) {
  onnx::AttributeProto a;
  a.set_name(name);
  a.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t v : values) a.add_ints(v);
  return a;
}

/// Raw-data tensor.
template <class T>
onnx::TensorProto tensor(const std::string& name, int dtype, const std::vector<std::int64_t>& dims,
                         const std::vector<T>& values) {
  onnx::TensorProto t;
  t.set_name(name);
  t.set_data_type(dtype);
  for (const std::int64_t d : dims) t.add_dims(d);
  t.set_raw_data(values.data(), values.size() * sizeof(T));
  return t;
}

class ModelBuilder {
 public:
  explicit ModelBuilder(int opset = 17) {
    model.set_ir_version(8);
    auto* set = model.add_opset_import();
    set->set_domain("");
    set->set_version(opset);
    graph().set_name("test");
  }

  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  ModelBuilder& input(const std::string& name, const std::vector<Dim>& dims, int dtype = onnx::TensorProto::FLOAT) {
    describe(graph().add_input(), name, dtype);
    auto* shape =
        graph().mutable_input(graph().input_size() - 1)->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const Dim& dim : dims) {
      auto* d = shape->add_dim();
      if (std::holds_alternative<std::int64_t>(dim)) d->set_dim_value(std::get<std::int64_t>(dim));
      if (std::holds_alternative<std::string>(dim)) d->set_dim_param(std::get<std::string>(dim));
    }
    return *this;
  }
  ModelBuilder& output(const std::string& name, int dtype = onnx::TensorProto::FLOAT) {
    describe(graph().add_output(), name, dtype);
    return *this;
  }
  ModelBuilder& floats(const std::string& name, const std::vector<std::int64_t>& dims,
                       const std::vector<float>& values) {
    *graph().add_initializer() = tensor(name, onnx::TensorProto::FLOAT, dims, values);
    return *this;
  }
  /// A 1-D tensor of int64.
  ModelBuilder& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    *graph().add_initializer() =
        tensor(name, onnx::TensorProto::INT64, {static_cast<std::int64_t>(values.size())}, values);
    return *this;
  }
  template <class... Attribute>
  ModelBuilder& node(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const Attribute&... attributes) {
    onnx::NodeProto* n = graph().add_node();
    n->set_op_type(op);
    n->set_name(outputs.empty() ? op : op + "_" + outputs[0]);
    for (const std::string& i : inputs) n->add_input(i);
    for (const std::string& o : outputs) n->add_output(o);
    ((*n->add_attribute() = attributes), ...);
    return *this;
  }
  onnx::NodeProto& last_node() { return *graph().mutable_node(graph().node_size() - 1); }

  std::vector<std::byte> bytes() const {
    const std::string text = model.SerializeAsString();
    std::vector<std::byte> result(text.size());
    std::memcpy(result.data(), text.data(), text.size());
    return result;
  }
  Graph import(const std::filesystem::path& folder = {}) const { return import_onnx(bytes(), folder, "test.onnx"); }

  onnx::ModelProto model;

 private:
  static void describe(onnx::ValueInfoProto* info, const std::string& name, int dtype) {
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(dtype);
  }
};

}  // namespace temper::graph::testing
