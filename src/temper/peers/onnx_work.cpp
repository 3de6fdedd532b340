#include "temper/peers/onnx_work.h"

#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "temper/support/error.h"

namespace temper::peers {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kActivations{
    {{"relu", "Relu"}, {"hardswish", "HardSwish"}, {"sigmoid", "Sigmoid"}, {"tanh", "Tanh"}}};

/// What comes before the last product of attention, as libraries know it: the weights of the values are "weights".
std::vector<OnnxNode> attention_weights(const AttentionShape& s) {
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.depth)));
  return {{"Transpose", {"k"}, {"kt"}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}}},
          {"MatMul", {"q", "kt"}, {"product"}, {}},
          {"Constant", {}, {"scale"}, {{"value", Tensor::f32("", {}, std::array{scale})}}},
          {"Mul", {"product", "scale"}, {"scores"}, {}},
          {"Softmax", {"scores"}, {"weights"}, {{"axis", std::int64_t{-1}}}}};
}

OnnxNode operator_node(const PeerWork& work) {
  if (work.op == "attention") return {"MatMul", {"weights", "v"}, {}, {}};
  if (work.op == "matmul") return {"MatMul", {"a", "b"}, {}, {}};
  if (work.op == "softmax") return {"Softmax", {"in"}, {}, {{"axis", std::int64_t{-1}}}};
  if (work.op == "layernorm") {
    return {"LayerNormalization",
            {"in", "scale", "shift"},
            {},
            {{"axis", std::int64_t{-1}}, {"epsilon", kLayerNormEpsilon}}};
  }
  if (work.op == "model") throw Error(ErrorCode::Unsupported, "A model is one already", "op");
  if (work.layout == Layout::Nhwc) throw Error(ErrorCode::Unsupported, "ONNX's Conv is NCHW", "layout");
  const ConvShape s = conv_shape(work);
  using Ints = std::vector<std::int64_t>;
  OnnxNode node{s.transposed ? "ConvTranspose" : "Conv",
                {"in", "w"},
                {},
                {{"kernel_shape", Ints{s.kh, s.kw}},
                 {"strides", Ints{s.stride_h, s.stride_w}},
                 {"pads", Ints{s.pad_top, s.pad_left, s.pad_bottom, s.pad_right}},
                 {"dilations", Ints{s.dilation_h, s.dilation_w}},
                 {"group", s.groups}}};
  if (s.extra_h != 0 || s.extra_w != 0) node.attributes.push_back({"output_padding", Ints{s.extra_h, s.extra_w}});
  return node;
}

}  // namespace

OnnxGraph onnx_graph(const PeerWork& work, const std::vector<Tensor>& inputs) {
  check_inputs(work, inputs);
  OnnxGraph graph;
  const std::vector<TensorSpec> specs = input_specs(work);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].constant) {
      graph.initializers.push_back(inputs[i]);
      graph.initializers.back().name = specs[i].name;
    } else {
      graph.inputs.push_back({specs[i].name, inputs[i].dtype, specs[i].dims});
    }
  }
  if (work.op == "attention") graph.nodes = attention_weights(attention_shape(work));
  const bool trans_b = work.op == "matmul" && matmul_shape(work).trans_b;
  if (trans_b) {
    const bool batched = matmul_shape(work).batch > 1;
    using Ints = std::vector<std::int64_t>;
    graph.nodes.push_back({"Transpose", {"b"}, {"bt"}, {{"perm", batched ? Ints{0, 2, 1} : Ints{1, 0}}}});
  }
  OnnxNode node = operator_node(work);
  if (trans_b) node.inputs[1] = graph.nodes.back().outputs[0];
  std::span<const std::string> steps = work.epilogue;
  if (is_convolution(work) && !steps.empty() && steps.front() == "bias") {
    node.inputs.emplace_back("bias");
    steps = steps.subspan(1);
  }
  graph.nodes.push_back(std::move(node));
  int adds = 0;
  for (const std::string& step : steps) {
    const std::string value = "v" + std::to_string(graph.nodes.size());
    graph.nodes.back().outputs = {value};
    if (step == "bias" || step == "add") {
      graph.nodes.push_back({"Add", {value, step == "bias" ? step : "add" + std::to_string(adds++)}, {}, {}});
    }
    for (const auto& [name, op_type] : kActivations) {
      if (name == step) graph.nodes.push_back({std::string(op_type), {value}, {}, {}});
    }
  }
  const TensorSpec output = output_spec(work);
  graph.nodes.back().outputs = {output.name};
  graph.outputs = {{output.name, "f32", output.dims}};
  return graph;
}

Message onnx_request(const PeerWork& work, std::vector<Tensor> inputs) {
  std::string model = work.model;
  Message request{{{"type", "prepare"}, {"path", work.model_path}}, {}};
  request.tensors.emplace_back();
  if (work.op == "model") {
    if (work.model.empty() == work.model_path.empty()) {
      throw Error(ErrorCode::InvalidArgument, "A model is given by its bytes or by its path, one of them", "model");
    }
    for (Tensor& tensor : inputs) request.tensors.push_back(std::move(tensor));
  } else {
    model = write_onnx(onnx_graph(work, inputs));
    const std::vector<TensorSpec> specs = input_specs(work);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].constant) continue;
      inputs[i].name = specs[i].name;
      request.tensors.push_back(std::move(inputs[i]));
    }
  }
  const auto bytes = std::as_bytes(std::span<const char>(model));
  request.tensors.front() = {"model", "u8", {static_cast<std::int64_t>(model.size())}, {bytes.begin(), bytes.end()}};
  return request;
}

}  // namespace temper::peers
