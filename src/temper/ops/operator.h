// What every operator file provides and receives. An operator turns a `Node` (attributes and input tensors) into
// definitions; the shape rule, constant folding and fusion all follow from that one function:
//   - the output types are those of the returned tensors;
//   - an input may be a placeholder, a constant, or the output of another operator's definition: then both end up in
//     one `ir::Compute`, which is what fusion means;
//   - a constant is folded by evaluating its definition with the oracle.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/ir/compute.h"
#include "temper/ops/attributes.h"
#include "temper/ops/tensor_value.h"

namespace temper::ops {

/// How activations of two pixel axes are stored: [n,c,h,w], [n,h,w,c], or in blocks of b = 8 or 16 channels
/// [n, ceil(c/b), h, w, b]. Weights are [oc, ic/groups, kh, kw]; `conv2d.h` has those of convolutions in blocks.
enum class Layout : std::uint8_t { Nchw, Nhwc, Nchw8c, Nchw16c };
std::string_view to_string(Layout layout);  ///< "nchw", "nhwc", "nchw8c", "nchw16c"
/// Channels of a block; 0 for a layout without blocks.
std::int64_t channel_block(Layout layout);
/// The layout whose blocks fill a vector of so many elements, and 8 where a vector holds fewer.
Layout blocked_layout(std::int64_t lanes);

/// One input of a node.
struct Operand {
  ir::Tensor tensor;                   ///< empty for an optional input that is absent
  const TensorValue* value = nullptr;  ///< contents, where they are known when the definition is built; not owned
  bool present() const { return tensor.stage() != nullptr; }
};

/// One application of an operator.
struct Node {
  std::string op;  ///< ONNX operator of the default domain
  int opset = 21;
  const Attributes* attributes = nullptr;  ///< not owned, never null
  std::vector<Operand> inputs;
  std::string name;              ///< name of the (first) output stage; helper stages are called `name_<role>`
  Layout layout = Layout::Nchw;  ///< how activations among the inputs, and the output, are laid out
  int outputs = 1;               ///< how many outputs are asked for

  bool has(std::size_t input) const { return input < inputs.size() && inputs[input].present(); }
  /// Throws Error{InvalidModel} when the input is absent.
  const ir::Tensor& input(std::size_t index) const;
  /// Contents of an input that must be known (a shape, axes). Throws Error{Unsupported} when it is not.
  const TensorValue& value(std::size_t index) const;
};

/// What kind of work an operator is; fusion and task extraction decide by it.
enum class OperatorClass : std::uint8_t {
  Elementwise,  ///< each output element depends on one element of each (broadcast) input
  Contraction,  ///< convolution and matrix products: worth an own template
  Reduction,    ///< pooling, softmax, norms, reductions
  Movement,     ///< copies elements to other places
  View,         ///< same bytes, another shape: needs no code
};

struct Operator {
  std::string_view name;  ///< ONNX name
  OperatorClass kind;
  std::string_view summary;  ///< one line for `--help` and documentation
  int min_inputs;
  int max_inputs;   ///< -1: any number
  int first_opset;  ///< smallest operator-set version whose semantics are implemented
  std::vector<ir::Tensor> (*build)(const Node& node);
};

/// Throws Error{InvalidModel} or Error{Unsupported} with the operator's name as the place.
[[noreturn]] void invalid(const Node& node, std::string what, std::string hint = {});
[[noreturn]] void unsupported(const Node& node, std::string what, std::string hint = {});

/// Counts from the end when negative. Throws Error{InvalidModel} outside [-rank, rank).
std::int64_t normalise_axis(const Node& node, std::int64_t axis, std::size_t rank);
/// As above for each, sorted, without doubles.
std::vector<std::int64_t> normalise_axes(const Node& node, std::vector<std::int64_t> axes, std::size_t rank);

/// Extents as `compute` takes them.
std::vector<ir::Extent> extents(const std::vector<std::int64_t>& shape);
/// Dtype and constant shape.
TensorType type_of(const ir::Tensor& tensor);

}  // namespace temper::ops
