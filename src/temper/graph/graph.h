// The graph of a model: values joined by nodes, in topological order. No protobuf, no layouts, no code.
//
// A graph is a plain value: every pass takes one and returns another. Values are named by index; a node's optional
// input that is absent is `kAbsent`. Each value is defined once: as a graph input, a constant, or a node's output.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "temper/graph/tensor.h"
#include "temper/ops/attributes.h"
#include "temper/ops/operator.h"

namespace temper::graph {

using ValueId = std::int32_t;
/// An optional input that is not there.
inline constexpr ValueId kAbsent = -1;

/// Size of one dimension; until `fix_shapes` it may be a symbol, or nothing at all (unknown, both empty).
struct Dimension {
  std::optional<std::int64_t> size;
  std::string symbol;
  bool operator==(const Dimension&) const = default;
};
using SymbolicShape = std::vector<Dimension>;
/// "[batch,3,?,224]"
std::string to_string(const SymbolicShape& shape);

struct Value {
  std::string name;  ///< unique within the graph
  ir::DType dtype = ir::DType::F32;
  std::optional<SymbolicShape> shape;    ///< absent until inferred
  std::optional<ops::TensorValue> data;  ///< a constant; then dtype and shape are the data's
  /// The model's value that it holds, element for element; empty for one that passes have added.
  std::string source = {};
  /// How it is stored: axis i is axis `order[i]` of the source. Empty: in the source's order.
  std::vector<int> order = {};
  /// How many elements apart neighbours along each axis lie, where that is not row-major without gaps. Empty until
  /// `extract_tasks` finds the value a place inside of another.
  Sizes strides = {};
  bool is_constant() const { return data.has_value(); }
};

/// One operator application.
struct Node {
  std::string op;    ///< ONNX operator of the default domain: "Conv"
  int opset = 0;     ///< version of the operator set that gives `op` its meaning
  std::string name;  ///< never empty: an unnamed node is called after its operator and its place, "Conv#12"
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  ///< `kAbsent` for an output that nobody asked for
  ops::Attributes attributes;
  /// How the activations of two pixel axes among inputs and outputs are stored. Shapes of values are always those of
  /// the stored order: of rank 5 in blocks of channels, where weights and bias are laid out as `ops/conv2d.h` says.
  ops::Layout layout = ops::Layout::Nchw;
  /// An NHWC convolution whose first input is still stored as NCHW: its kernel reads it in that order. One in blocks
  /// needs no such word: its input has rank 4 then.
  bool reads_nchw = false;
  std::vector<std::string> origins = {};  ///< names of the model's nodes that it stands for
  /// Up to `infer`, of a node in a branch: its last inputs are conditions, and each must have this value.
  std::vector<bool> guards = {};
};

struct Graph {
  std::string name;
  int opset = 0;
  std::vector<Value> values;
  std::vector<Node> nodes;                ///< topological order
  std::vector<ValueId> inputs;            ///< in the model's order
  std::vector<ValueId> outputs;           ///< in the model's order
  std::vector<std::string> output_names;  ///< what the model calls each output, whatever value passes put behind it

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  /// Adds a value; a name that is taken gets a suffix.
  ValueId add_value(Value value);
  ValueId add_constant(std::string name, ops::TensorValue data);
  /// A constant of rank 1 and type int64: a shape, axes, places.
  ValueId add_integers(std::string name, const std::vector<std::int64_t>& values);
  /// Sizes of a value of known shape. Throws Error{Unsupported} that names the value when a dimension is unknown.
  Sizes sizes(ValueId id) const;
  bool has_known_shape(ValueId id) const;
  /// Sets dtype and known sizes.
  void set_type(ValueId id, ir::DType dtype, const Sizes& sizes);
};

/// For each value: the node that defines it, or -1; and the nodes that read it (each as often as it reads it).
struct Uses {
  std::vector<int> producer;
  std::vector<std::vector<int>> consumers;
  std::vector<bool> is_output;  ///< whether the value is a graph output
};
Uses find_uses(const Graph& graph);

/// Sorts the nodes topologically, keeping the given order where it is free. Throws Error{InvalidModel} that names the
/// nodes of a cycle.
void sort_topologically(Graph& graph);

/// Makes every reader of `from`, graph outputs included, read `to`.
void replace_uses(Graph& graph, ValueId from, ValueId to);

/// Drops values that no node reads or defines and that are neither inputs nor outputs; renumbers the rest.
void drop_unused_values(Graph& graph);

/// Checks what every pass must leave true: indices in range, unique names, one definition a value, topological order,
/// every read value defined. Throws Error{Internal}: a graph from the importer never fails this.
void verify(const Graph& graph);

/// One line per input, constant, node and output, for people and golden tests.
std::string print(const Graph& graph);

}  // namespace temper::graph
