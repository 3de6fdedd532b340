#include "temper/graph/passes/layout.h"

#include <algorithm>
#include <utility>

#include "temper/graph/passes/block_rules.h"
#include "temper/graph/passes/dead_code.h"
#include "temper/graph/passes/followers.h"
#include "temper/graph/passes/stored_values.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

using ops::Layout;

/// A node of the graph as it was before the pass.
struct Member {
  int chain = kNoNode;               ///< a node of the same chain, and of its first node itself; `kNoNode`: in no chain
  std::int64_t transposed_nchw = 0;  ///< bytes, see `Chain`
  std::string no_blocks = {};
};

class LayoutPass {
 public:
  /// `wanted`: a layout for each node, that of its chain where it is in one. `apply` false: only to see what happens;
  /// the graph cannot be run afterwards.
  LayoutPass(Graph& graph, std::vector<Layout> wanted, bool apply)
      : graph_(graph), apply_(apply), wanted_(std::move(wanted)), members_(graph.nodes.size()), stored_(graph) {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      stored_.visit(number_);
      visit(std::move(node));
      ++number_;
    }
    for (ValueId& id : graph_.outputs) id = stored_.as(id, Layout::Nchw);
    remove_dead_code(graph_);
  }

  /// The first node of the chain of node `n`; `kNoNode` when it is in none.
  int chain_of(int n) const {
    while (n != kNoNode && member(n).chain != n) n = member(n).chain;
    return n;
  }
  const Member& member(int n) const { return members_[static_cast<std::size_t>(n)]; }
  /// Bytes that are transposed for node `n`.
  std::int64_t moved(int n) const { return stored_.moved(n); }

 private:
  Member& own(int n) { return members_[static_cast<std::size_t>(n)]; }

  /// Makes the node at hand one of the chain that computes `id`, if there is one.
  void join(ValueId id) {
    if (id == kAbsent || stored_.producer(id) == kNoNode) return;
    const int a = chain_of(number_), b = chain_of(stored_.producer(id));
    own(std::max(a, b)).chain = std::min(a, b);
  }

  std::size_t rank(ValueId id) const { return graph_.value(id).shape->size(); }
  bool is_nhwc(ValueId id) { return stored_.is_stored(id, Layout::Nhwc) && rank(id) == 4; }
  ValueId as_nhwc(ValueId id) { return stored_.as(id, Layout::Nhwc); }

  void visit(Node node) {
    const Layout wanted = wanted_[static_cast<std::size_t>(number_)];
    if (wanted == Layout::Nchw) {
      leave(std::move(node));
    } else if (ops::channel_block(wanted) > 0) {
      visit_blocks(std::move(node), wanted);
    } else if (can_read_nchw(node)) {
      node.reads_nchw = true;
      emit(std::move(node), Layout::Nhwc);
    } else if (is_windowed(node) && stored_.plain_sizes(node.inputs[0]).size() == 4) {
      node.inputs[0] = as_nhwc(node.inputs[0]);
      emit(std::move(node), Layout::Nhwc);
    } else if (node.op == "Transpose" && is_nhwc(node.inputs[0])) {
      absorb(std::move(node));
    } else if (any_nhwc(node) && (follow_elementwise(node) || follow_concat(node) || follow_reduction(node) ||
                                  follow_pixels(node) || follow_slice(node) || follow_resize(node))) {
      emit(std::move(node), Layout::Nhwc);
    } else {
      leave(std::move(node));
    }
  }

  void visit_blocks(Node node, Layout layout) {
    BlockRules rules(graph_, stored_, layout, apply_);
    own(number_).no_blocks = rules.refusal(node);
    if (!own(number_).no_blocks.empty()) {
      TEMPER_CHECK(!apply_, "node '" + node.name + "': " + own(number_).no_blocks);
      leave(std::move(node));
    } else if (const auto padding = rules.follow(node)) {
      emit(std::move(node), layout, *padding);
    } else {
      leave(std::move(node));
    }
  }

  void leave(Node node) {
    for (ValueId& id : node.inputs) id = stored_.as(id, Layout::Nchw);
    graph_.nodes.push_back(std::move(node));
  }

  void emit(Node node, Layout layout, double padding = 0) {
    node.layout = layout;
    own(number_).chain = number_;
    for (const ValueId id : node.inputs) join(id);
    for (const ValueId id : node.outputs) {
      if (id != kAbsent && rank(id) == 4) stored_.define(id, layout, padding);
    }
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
           stored_.is_stored(in, Layout::Nchw) && !stored_.is_wanted(in, Layout::Nhwc) &&
           graph_.sizes(in)[1] <= kFewChannels && graph_.sizes(in)[1] > 1 &&
           element_count(weights.data->type.shape) > weights.data->type.shape[0] * graph_.sizes(in)[1];
  }

  bool any_nhwc(const Node& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return is_nhwc(id); });
  }

  // Each `follow_` rewrites the node for NHWC inputs and returns true, or leaves it alone.

  bool follow_elementwise(Node& node) {
    if (!is_elementwise(node) || rank(node.outputs[0]) != 4) return false;
    // Its other operands are one value per channel in either layout.
    if (node.op == "BatchNormalization") return true;
    for (ValueId& id : node.inputs) {
      // One element broadcasts the same way in any order; its rank must not exceed the output's, and does not.
      if (id == kAbsent) continue;
      const bool is_one = element_count(stored_.plain_sizes(id)) == 1;
      id = is_one ? (is_nhwc(id) ? id : stored_.as(id, Layout::Nchw)) : as_nhwc(stored_.with_rank_4(id));
    }
    return true;
  }

  static std::int64_t nhwc_axis(std::int64_t axis) {
    const auto it = std::find(kToNhwc.begin(), kToNhwc.end(), static_cast<int>(axis < 0 ? axis + 4 : axis));
    return it - kToNhwc.begin();
  }

  bool follow_concat(Node& node) {
    if (node.op != "Concat" || rank(node.outputs[0]) != 4) return false;
    node.attributes.set("axis", nhwc_axis(node.attributes.integer("axis")));
    for (ValueId& id : node.inputs) id = as_nhwc(id);
    return true;
  }

  bool follow_reduction(Node& node) {
    if (!is_reduction(node)) return false;
    auto axes = constant_axes(graph_, node);
    if (!axes) return false;
    for (std::int64_t& axis : *axes) axis = nhwc_axis(axis);
    std::sort(axes->begin(), axes->end());
    // Without the reduced dimensions the rest keeps the model's order only when both pixel axes are gone, or the
    // channels.
    const bool keeps_order = node.attributes.integer("keepdims", 1) == 1 || *axes == std::vector<std::int64_t>{1, 2} ||
                             std::binary_search(axes->begin(), axes->end(), 3);
    if (!keeps_order) return false;
    set_axes(graph_, node, *axes);
    return true;
  }

  /// Operators that know the layout, where their input has it anyway.
  bool follow_pixels(const Node& node) const { return node.op == "DepthToSpace" || node.op == "SpaceToDepth"; }

  bool follow_slice(Node& node) {
    auto axes = slice_axes(graph_, node);
    if (!axes) return false;
    for (std::int64_t& axis : *axes) axis = nhwc_axis(axis);
    node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 4), kAbsent);
    node.inputs[3] = graph_.add_integers(node.name + ".axes", *axes);
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
      const std::vector<double> numbers = value.data->numbers();
      std::vector<double> order;
      for (const int axis : kToNhwc) order.push_back(numbers[static_cast<std::size_t>(axis)]);
      changed.emplace_back(
          i, graph_.add_constant(value.name + ".nhwc", ops::TensorValue::from_numbers(value.data->type, order)));
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
    stored_.add_transpose(in, node.outputs[0], order, node.name);
    graph_.nodes.back().origins = node.origins;
    if (const int inside = stored_.producer(in); inside != kNoNode) {
      stored_.count_moved(inside, stored_.transposed_bytes(in, order));
      if (!moves_nothing(stored_.plain_sizes(in), written))
        own(inside).transposed_nchw += element_count(graph_.sizes(in)) * ir::bytes(graph_.value(in).dtype);
    }
  }

  Graph& graph_;
  bool apply_;
  std::vector<Layout> wanted_;
  std::vector<Member> members_;
  StoredValues stored_;
  int number_ = 0;  ///< of the node at hand
};

std::vector<Layout> everywhere(const Graph& graph, Layout layout) {
  return std::vector<Layout>(graph.nodes.size(), layout);
}

/// Adds to the chains what they would be in blocks: nodes elsewhere stay as they are.
void look_at_blocks(const Graph& graph, Layout blocks, std::vector<Chain>& chains) {
  const auto pass_of = [&](auto&& look) {
    std::vector<Layout> wanted = everywhere(graph, Layout::Nchw);
    for (const Chain& chain : chains) {
      if (!chain.no_blocks.empty()) continue;
      for (const int n : chain.nodes) wanted[static_cast<std::size_t>(n)] = blocks;
    }
    Graph copy = graph;
    LayoutPass pass(copy, std::move(wanted), false);
    pass.run();
    for (Chain& chain : chains) {
      for (const int n : chain.nodes) look(pass, chain, n);
    }
  };
  pass_of([&](const LayoutPass& pass, Chain& chain, int n) {
    const std::string& reason = pass.member(n).no_blocks;
    if (chain.no_blocks.empty() && !reason.empty())
      chain.no_blocks = "node '" + graph.nodes[static_cast<std::size_t>(n)].name + "': " + reason;
  });
  pass_of([](const LayoutPass& pass, Chain& chain, int n) { chain.transposed_blocks += pass.moved(n); });
}

}  // namespace

std::vector<Chain> find_chains(const Graph& graph, Layout blocks) {
  Graph copy = graph;
  LayoutPass pass(copy, everywhere(graph, Layout::Nhwc), false);
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
    chain.transposed_nhwc += pass.moved(n);
    chain.transposed_nchw += pass.member(n).transposed_nchw;
  }
  look_at_blocks(graph, blocks, chains);
  return chains;
}

void assign_layouts(Graph& graph, const Layouts& layouts) {
  const auto blocked = std::ranges::find_if(layouts, [](Layout l) { return ops::channel_block(l) > 0; });
  const std::vector<Chain> chains = find_chains(graph, blocked == layouts.end() ? kWidestBlocks : *blocked);
  TEMPER_CHECK(layouts.size() == chains.size(), "one layout for each chain");
  // Nodes outside of chains: a transpose of the model that absorbs that of a chain.
  std::vector<Layout> wanted = everywhere(graph, Layout::Nhwc);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    for (const int n : chains[i].nodes) wanted[static_cast<std::size_t>(n)] = layouts[i];
  }
  LayoutPass(graph, std::move(wanted), true).run();
}

}  // namespace temper::graph
