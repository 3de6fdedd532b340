#include "temper/graph/passes/layout.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "temper/graph/passes/dead_code.h"
#include "temper/ops/registry.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

using ops::Layout;

constexpr std::array<std::string_view, 6> kChannelsLast{"AveragePool",       "Conv",          "ConvTranspose",
                                                        "GlobalAveragePool", "GlobalMaxPool", "MaxPool"};
constexpr std::array<std::string_view, 10> kReductions{"ReduceL1",  "ReduceL2",       "ReduceLogSum", "ReduceLogSumExp",
                                                       "ReduceMax", "ReduceMean",     "ReduceMin",    "ReduceProd",
                                                       "ReduceSum", "ReduceSumSquare"};

/// Up to this many channels a convolution reads an NCHW input directly.
constexpr std::int64_t kFewChannels = 8;

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_elementwise(const Node& node) {
  const ops::Operator* op = ops::find_operator(node.op);
  return op != nullptr && op->kind == ops::OperatorClass::Elementwise;
}

/// Whether a transpose of `sizes` leaves every element in its place: the axes larger than 1 keep their order.
bool moves_nothing(const Sizes& sizes, const std::vector<int>& order) {
  int last = -1;
  for (const int axis : order) {
    if (sizes[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

constexpr int kNoNode = -1;

/// A node of the graph as it was before the pass.
struct Member {
  int chain = kNoNode;  ///< a node of the same chain, and of its first node itself; `kNoNode`: in no chain
  std::int64_t transposed_nhwc = 0, transposed_nchw = 0;  ///< bytes, see `Chain`
};

class LayoutPass {
 public:
  /// Nodes for which `stays_nchw` is set keep their layout.
  LayoutPass(Graph& graph, std::vector<bool> stays_nchw)
      : graph_(graph), stays_nchw_(std::move(stays_nchw)), members_(graph.nodes.size()), states_(graph.values.size()) {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      visit(std::move(node));
      ++number_;
    }
    for (ValueId& id : graph_.outputs) id = as(id, Layout::Nchw);
    remove_dead_code(graph_);
  }

  /// The first node of the chain of node `n`; `kNoNode` when it is in none.
  int chain_of(int n) const {
    while (n != kNoNode && member(n).chain != n) n = member(n).chain;
    return n;
  }
  const Member& member(int n) const { return members_[static_cast<std::size_t>(n)]; }

 private:
  struct State {
    Layout native = Layout::Nchw;
    ValueId twin = kAbsent;  ///< the same tensor in the other layout
    int producer = kNoNode;  ///< the node of a chain that computes it, in NHWC
  };

  Member& own(int n) { return members_[static_cast<std::size_t>(n)]; }

  /// Makes the node at hand one of the chain that computes `id`, if there is one.
  void join(ValueId id) {
    if (id == kAbsent || state(id).producer == kNoNode) return;
    const int a = chain_of(number_), b = chain_of(state(id).producer);
    own(std::max(a, b)).chain = std::min(a, b);
  }

  std::size_t rank(ValueId id) const { return graph_.value(id).shape->size(); }
  State& state(ValueId id) {
    states_.resize(graph_.values.size());
    return states_[static_cast<std::size_t>(id)];
  }
  bool is_nhwc(ValueId id) { return id != kAbsent && rank(id) == 4 && state(id).native == Layout::Nhwc; }

  /// The value that holds `id` in `layout`; a conversion is added on first need.
  ValueId as(ValueId id, Layout layout) {
    if (id == kAbsent || rank(id) != 4 || state(id).native == layout) return id;
    if (state(id).twin == kAbsent) {
      const ValueId twin = convert(id, layout == Layout::Nhwc ? kToNhwc : kToNchw, layout);
      state(twin).native = layout;
      state(twin).twin = id;
      state(id).twin = twin;
    }
    return state(id).twin;
  }

  ValueId convert(ValueId id, const std::vector<int>& order, Layout layout) {
    const Value source = graph_.value(id);
    const std::string name = source.name + "." + std::string(ops::to_string(layout));
    if (source.is_constant()) return graph_.add_constant(name, transposed(*source.data, order));
    const ValueId result = graph_.add_value(Value{name, source.dtype, {}, {}, source.source});
    if (layout == Layout::Nhwc) graph_.value(result).order = kToNhwc;
    add_transpose(id, result, order, name);
    // Into a chain for the node at hand, or out of the one that computes the value.
    const int inside = layout == Layout::Nhwc ? number_ : state(id).producer;
    own(inside).transposed_nhwc += transposed_bytes(id, order);
    return result;
  }

  std::int64_t transposed_bytes(ValueId id, const std::vector<int>& order) const {
    const Sizes sizes = graph_.sizes(id);
    return moves_nothing(sizes, order) ? 0 : element_count(sizes) * ir::bytes(graph_.value(id).dtype);
  }

  /// result = Transpose(id, order), as a Reshape where no element moves.
  void add_transpose(ValueId id, ValueId result, const std::vector<int>& order, const std::string& name) {
    const Sizes sizes = graph_.sizes(id);
    graph_.set_type(result, graph_.value(id).dtype, permuted(sizes, order));
    if (moves_nothing(sizes, order)) {
      add_reshape(id, result, name);
      return;
    }
    Node node{"Transpose", 13, name, {id}, {result}, {}, Layout::Nchw};
    node.attributes.set("perm", std::vector<std::int64_t>(order.begin(), order.end()));
    graph_.nodes.push_back(std::move(node));
  }

  void add_reshape(ValueId id, ValueId result, const std::string& name) {
    const Sizes sizes = graph_.sizes(result);
    const ValueId shape = graph_.add_integers(name + ".shape", sizes);
    graph_.nodes.push_back(Node{"Reshape", 14, name, {id, shape}, {result}, {}, Layout::Nchw});
  }

  void visit(Node node) {
    if (!stays_nchw_.empty() && stays_nchw_[static_cast<std::size_t>(number_)]) {
      leave(std::move(node));
    } else if (can_read_nchw(node)) {
      node.reads_nchw = true;
      emit_nhwc(std::move(node));
    } else if (is_one_of(kChannelsLast, node.op) && rank(node.inputs[0]) == 4) {
      node.inputs[0] = as(node.inputs[0], Layout::Nhwc);
      emit_nhwc(std::move(node));
    } else if (node.op == "Transpose" && is_nhwc(node.inputs[0])) {
      absorb(std::move(node));
    } else if (any_nhwc(node) && (follow_elementwise(node) || follow_concat(node) || follow_reduction(node) ||
                                  follow_pixels(node) || follow_slice(node) || follow_resize(node))) {
      emit_nhwc(std::move(node));
    } else {
      leave(std::move(node));
    }
  }

  void leave(Node node) {
    for (ValueId& id : node.inputs) id = as(id, Layout::Nchw);
    graph_.nodes.push_back(std::move(node));
  }

  /// A dense convolution of few channels with constant weights, whose input nobody has needed as NHWC yet. More
  /// channels are read faster when they lie together; a 1x1 convolution is a matrix product.
  bool can_read_nchw(const Node& node) {
    if (node.op != "Conv" || rank(node.inputs[0]) != 4 || node.attributes.integer("group", 1) != 1) return false;
    const ValueId in = node.inputs[0];
    const Value& weights = graph_.value(node.inputs[1]);
    const bool constant = weights.is_constant() && (node.inputs.size() < 3 || node.inputs[2] == kAbsent ||
                                                    graph_.value(node.inputs[2]).is_constant());
    return constant && weights.shape->size() == 4 && ir::is_float(weights.dtype) && !graph_.value(in).is_constant() &&
           state(in).native == Layout::Nchw && state(in).twin == kAbsent && graph_.sizes(in)[1] <= kFewChannels &&
           graph_.sizes(in)[1] > 1 &&
           element_count(weights.data->type.shape) > weights.data->type.shape[0] * graph_.sizes(in)[1];
  }

  bool any_nhwc(const Node& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return is_nhwc(id); });
  }

  void emit_nhwc(Node node) {
    node.layout = Layout::Nhwc;
    own(number_).chain = number_;
    for (const ValueId id : node.inputs) join(id);
    for (const ValueId id : node.outputs) {
      if (id == kAbsent || rank(id) != 4) continue;
      graph_.set_type(id, graph_.value(id).dtype, permuted(graph_.sizes(id), kToNhwc));
      graph_.value(id).order = kToNhwc;
      state(id).native = Layout::Nhwc;
      state(id).producer = number_;
    }
    graph_.nodes.push_back(std::move(node));
  }

  // Each `follow_` rewrites the node for NHWC inputs and returns true, or leaves it alone.

  bool follow_elementwise(Node& node) {
    if (!is_elementwise(node) || rank(node.outputs[0]) != 4) return false;
    // Its other operands are one value per channel in either layout.
    if (node.op == "BatchNormalization") return true;
    for (ValueId& id : node.inputs) {
      if (id != kAbsent && element_count(graph_.sizes(id)) != 1) id = as(with_rank_4(id), Layout::Nhwc);
      // One element broadcasts the same way in any order; its rank must not exceed the output's, and does not.
    }
    return true;
  }

  /// Leading axes of size 1, as broadcasting adds them.
  ValueId with_rank_4(ValueId id) {
    if (rank(id) == 4) return id;
    Sizes sizes = graph_.sizes(id);
    sizes.insert(sizes.begin(), 4 - sizes.size(), 1);
    const Value source = graph_.value(id);
    const std::string name = source.name + ".4d";
    if (source.is_constant()) return graph_.add_constant(name, reshaped(*source.data, sizes));
    const ValueId result = graph_.add_value(Value{name, source.dtype, {}, {}});
    graph_.set_type(result, source.dtype, sizes);
    add_reshape(id, result, name);
    return result;
  }

  static std::int64_t nhwc_axis(std::int64_t axis) {
    const auto it = std::find(kToNhwc.begin(), kToNhwc.end(), static_cast<int>(axis < 0 ? axis + 4 : axis));
    return it - kToNhwc.begin();
  }

  bool follow_concat(Node& node) {
    if (node.op != "Concat" || rank(node.outputs[0]) != 4) return false;
    node.attributes.set("axis", nhwc_axis(node.attributes.integer("axis")));
    for (ValueId& id : node.inputs) id = as(id, Layout::Nhwc);
    return true;
  }

  bool follow_reduction(Node& node) {
    if (!is_one_of(kReductions, node.op)) return false;
    std::vector<std::int64_t> axes = node.attributes.integers("axes", {});
    const bool as_input = node.inputs.size() > 1 && node.inputs[1] != kAbsent;
    if (as_input && graph_.value(node.inputs[1]).is_constant()) axes = graph_.value(node.inputs[1]).data->integers();
    if (axes.empty()) return false;
    for (std::int64_t& axis : axes) axis = nhwc_axis(axis);
    std::sort(axes.begin(), axes.end());
    // Without the reduced dimensions the rest keeps the model's order only when both pixel axes are gone, or the
    // channels.
    const bool keeps_order = node.attributes.integer("keepdims", 1) == 1 || axes == std::vector<std::int64_t>{1, 2} ||
                             std::binary_search(axes.begin(), axes.end(), 3);
    if (!keeps_order) return false;
    if (as_input) {
      node.inputs[1] = graph_.add_integers(node.name + ".axes", axes);
    } else {
      node.attributes.set("axes", axes);
    }
    return true;
  }

  /// Operators that know the layout, where their input has it anyway.
  bool follow_pixels(const Node& node) const { return node.op == "DepthToSpace" || node.op == "SpaceToDepth"; }

  /// The constant of an input, which must have `count` integers; none otherwise.
  std::optional<std::vector<std::int64_t>> constant_integers(const Node& node, std::size_t input) {
    if (input >= node.inputs.size() || node.inputs[input] == kAbsent) return std::nullopt;
    const Value& value = graph_.value(node.inputs[input]);
    if (!value.is_constant()) return std::nullopt;
    return value.data->integers();
  }

  bool follow_slice(Node& node) {
    if (node.op != "Slice" || node.opset < 10) return false;
    const auto starts = constant_integers(node, 1);
    if (!starts) return false;
    std::vector<std::int64_t> axes(starts->size());
    std::iota(axes.begin(), axes.end(), 0);
    if (node.inputs.size() > 3 && node.inputs[3] != kAbsent) {
      const auto given = constant_integers(node, 3);
      if (!given) return false;
      axes = *given;
    }
    for (std::int64_t& axis : axes) axis = nhwc_axis(axis);
    node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 4), kAbsent);
    node.inputs[3] = graph_.add_integers(node.name + ".axes", axes);
    return true;
  }

  /// Scales or sizes of all four axes, in the other order.
  bool follow_resize(Node& node) {
    if (node.op != "Resize" && node.op != "Upsample") return false;
    if (node.attributes.has("axes") || node.attributes.has("scales")) return false;
    std::vector<std::pair<std::size_t, ValueId>> changed;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kAbsent) continue;
      const Value& value = graph_.value(node.inputs[i]);
      if (!value.is_constant()) return false;
      const std::int64_t elements = value.data->type.elements();
      if (elements == 0) continue;
      if (elements != 4) return false;  // a region of interest
      const std::string name = value.name + ".nhwc";
      if (ir::is_float(value.dtype)) {
        std::vector<double> numbers = value.data->numbers(), order;
        for (const int axis : kToNhwc) order.push_back(numbers[static_cast<std::size_t>(axis)]);
        changed.emplace_back(i, graph_.add_constant(name, ops::TensorValue::from_numbers(value.data->type, order)));
      } else {
        const std::vector<std::int64_t> numbers = value.data->integers();
        std::vector<std::int64_t> order;
        for (const int axis : kToNhwc) order.push_back(numbers[static_cast<std::size_t>(axis)]);
        changed.emplace_back(i, graph_.add_integers(name, order));
      }
    }
    for (const auto& [input, id] : changed) node.inputs[input] = id;
    return true;
  }

  /// A transpose of what is stored as NHWC becomes one transpose, or none.
  void absorb(Node node) {
    std::vector<std::int64_t> reversed{3, 2, 1, 0};
    std::vector<int> order, written;
    for (const std::int64_t axis : node.attributes.integers("perm", reversed)) {
      written.push_back(static_cast<int>(axis));
      order.push_back(kToNchw[static_cast<std::size_t>(axis)]);
    }
    const ValueId in = node.inputs[0];
    add_transpose(in, node.outputs[0], order, node.name);
    graph_.nodes.back().origins = node.origins;
    if (const int inside = state(in).producer; inside != kNoNode) {
      own(inside).transposed_nhwc += transposed_bytes(in, order);
      if (!moves_nothing(permuted(graph_.sizes(in), kToNchw), written))
        own(inside).transposed_nchw += element_count(graph_.sizes(in)) * ir::bytes(graph_.value(in).dtype);
    }
  }

  Graph& graph_;
  std::vector<bool> stays_nchw_;
  std::vector<Member> members_;
  std::vector<State> states_;
  int number_ = 0;  ///< of the node at hand
};

}  // namespace

std::vector<Chain> find_chains(const Graph& graph) {
  Graph copy = graph;
  LayoutPass pass(copy, {});
  pass.run();
  std::vector<Chain> chains;
  std::vector<std::size_t> number(graph.nodes.size());  // of the chain, by its first node
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    const int first = pass.chain_of(n);
    if (first == kNoNode) continue;
    if (first == n) {
      number[static_cast<std::size_t>(n)] = chains.size();
      chains.push_back(Chain{graph.nodes[static_cast<std::size_t>(n)].name, {}});
    }
    Chain& chain = chains[number[static_cast<std::size_t>(first)]];
    chain.nodes.push_back(n);
    chain.transposed_nhwc += pass.member(n).transposed_nhwc;
    chain.transposed_nchw += pass.member(n).transposed_nchw;
  }
  return chains;
}

void assign_layouts(Graph& graph, const Layouts& layouts) {
  const std::vector<Chain> chains = find_chains(graph);
  TEMPER_CHECK(layouts.size() == chains.size(), "one layout for each chain");
  std::vector<bool> stays_nchw(graph.nodes.size(), false);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    for (const int n : chains[i].nodes) stays_nchw[static_cast<std::size_t>(n)] = layouts[i] == Layout::Nchw;
  }
  LayoutPass(graph, std::move(stays_nchw)).run();
}

}  // namespace temper::graph
