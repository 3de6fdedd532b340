#include "temper/graph/fusion.h"

#include <algorithm>
#include <set>
#include <utility>

#include "temper/graph/epilogue_items.h"
#include "temper/graph/repetition.h"
#include "temper/ops/registry.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

/// How many nodes a group may take in while it has more than one output, in the hope that they join again.
constexpr std::size_t kLookahead = 6;
constexpr std::size_t kLargestGroup = 32;
constexpr std::int64_t kCacheLine = 64;  ///< bytes

std::size_t index(int i) { return static_cast<std::size_t>(i); }

ops::OperatorClass class_of(const Node& node) {
  const ops::Operator* op = ops::find_operator(node.op);
  TEMPER_CHECK(op != nullptr, "operator '" + node.op + "' passed the import");
  return op->kind;
}

bool is_elementwise(const Node& node) {
  // Batch normalisation has a stage of its own for the factors, which `ops::apply_elementwise` does not know.
  return class_of(node) == ops::OperatorClass::Elementwise && node.op != "BatchNormalization";
}

/// Softmax and layer norm over the last axes are workloads of their own.
bool stays_alone(const Node& node) {
  return node.op == "Softmax" || node.op == "LogSoftmax" || node.op == "LayerNormalization" ||
         node.outputs.size() > 1 || class_of(node) == ops::OperatorClass::Movement || node.op == "BatchNormalization";
}

class Fusion {
 public:
  Fusion(const Graph& graph, bool fuse_nodes)
      : graph_(graph), fuse_nodes_(fuse_nodes), uses_(find_uses(graph)), taken_(graph.nodes.size(), false) {}

  std::vector<Group> run() {
    std::vector<Group> groups;
    // Products and convolutions choose first, then reductions: an activation is better behind them than on its own.
    for (const auto round : {Round::Anchors, Round::Reductions, Round::Rest}) {
      for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
        if (taken_[n] || is_view(graph_.nodes[n]) || round_of(graph_.nodes[n]) != round) continue;
        groups.push_back(grow(static_cast<int>(n)));
        for (const int member : groups.back().nodes) taken_[index(member)] = true;
      }
    }
    // A group runs when its last node would: only its output is read outside, so everything it reads is there by then.
    std::sort(groups.begin(), groups.end(),
              [](const Group& a, const Group& b) { return a.nodes.back() < b.nodes.back(); });
    return groups;
  }

 private:
  enum class Round : std::uint8_t { Anchors, Reductions, Rest };
  Round round_of(const Node& n) const {
    if (anchor_of(graph_, n)) return Round::Anchors;
    return class_of(n) == ops::OperatorClass::Reduction ? Round::Reductions : Round::Rest;
  }

  const Node& node(int n) const { return graph_.nodes[index(n)]; }
  const std::vector<int>& consumers(ValueId id) const { return uses_.consumers[static_cast<std::size_t>(id)]; }

  Group grow(int base) {
    Group group{{base}, {}, {}};
    if (const auto anchor = anchor_of(graph_, node(base))) {
      take_bias(group, *anchor);
      if (fuse_nodes_) grow_chain(group, *anchor);
    } else if (fuse_nodes_ && !stays_alone(node(base)) && class_of(node(base)) != ops::OperatorClass::Contraction) {
      grow_freely(group);
    }
    return group;
  }

  void take_bias(Group& group, const Anchor&) const {
    const Node& base = node(group.nodes[0]);
    if (base.op != "Conv" || base.inputs.size() < 3 || base.inputs[2] == kAbsent) return;
    group.epilogue.push_back({"bias", {}});
    group.epilogue_operands.push_back(base.inputs[2]);
  }

  /// The only node that reads `id`, or -1.
  int only_consumer(ValueId id) const {
    if (uses_.is_output[static_cast<std::size_t>(id)] || consumers(id).empty()) return -1;
    const int n = consumers(id)[0];
    const bool same = std::all_of(consumers(id).begin(), consumers(id).end(), [&](int other) { return other == n; });
    return same && !taken_[index(n)] ? n : -1;
  }

  void grow_chain(Group& group, const Anchor& anchor) {
    while (group.nodes.size() < kLargestGroup) {
      const ValueId running = node(group.nodes.back()).outputs[0];
      if (take_silu(group, running)) continue;
      const int next = only_consumer(running);
      if (next < 0 || take_shuffle(group, next)) return;
      if (take_repeated(group, anchor, next)) continue;
      const auto matched = match_item(graph_, node(next), running, anchor);
      if (!matched) return;
      group.nodes.push_back(next);
      group.epilogue.push_back(matched->item);
      if (matched->operand != kAbsent) group.epilogue_operands.push_back(matched->operand);
    }
  }

  /// A DepthToSpace behind a convolution of single pixels, when what is stored together fills a cache line.
  bool take_shuffle(Group& group, int next) const {
    const Node &base = node(group.nodes[0]), &shuffle = node(next);
    if (shuffle.op != "DepthToSpace" || shuffle.layout != ops::Layout::Nhwc) return false;
    if (shuffle.attributes.text("mode", "DCR") != "DCR" || base.op != "Conv" || base.reads_nchw) return false;
    const Sizes weights = graph_.sizes(base.inputs[1]), out = graph_.sizes(shuffle.outputs[0]);
    const std::int64_t block = shuffle.attributes.integer("blocksize");
    const auto all = [&](std::string_view name, std::int64_t value) {
      const std::vector<std::int64_t> given = base.attributes.integers(name, {});
      return std::all_of(given.begin(), given.end(), [&](std::int64_t each) { return each == value; });
    };
    const bool pointwise = weights[2] == 1 && weights[3] == 1 && all("strides", 1) && all("pads", 0);
    const bool plain = std::all_of(group.epilogue.begin(), group.epilogue.end(), [](const ops::EpilogueItem& item) {
      const ops::EpilogueOperand operand = ops::epilogue_kind(item.name).operand;
      return operand == ops::EpilogueOperand::None || operand == ops::EpilogueOperand::Channel;
    });
    const std::int64_t together = block * out[3] * ir::bytes(graph_.value(base.inputs[0]).dtype);
    if (!pointwise || !plain || base.attributes.integer("group", 1) != 1 || together < kCacheLine) return false;
    if (!graph_.value(base.inputs[1]).is_constant()) return false;
    group.nodes.push_back(next);
    group.block = block;
    return true;
  }

  /// An addition of pixels that are repeated: they are read where they are added.
  bool take_repeated(Group& group, const Anchor& anchor, int next) const {
    const Node &base = node(group.nodes[0]), &add = node(next);
    if (anchor.kind != Anchor::Kind::Conv2d || add.op != "Add") return false;
    const ValueId running = node(group.nodes.back()).outputs[0];
    const ValueId other = add.inputs[add.inputs[0] == running ? 1 : 0];
    const int repeat = uses_.producer[static_cast<std::size_t>(other)];
    if (repeat < 0 || taken_[index(repeat)] || only_consumer(other) != next || other == running) return false;
    if (node(repeat).layout != base.layout || graph_.sizes(other) != graph_.sizes(running)) return false;
    std::optional<Sizes> times = repetition(graph_, node(repeat));
    if (!times || (*times)[0] != 1) return false;
    for (auto axis = anchor.channels.rbegin(); axis != anchor.channels.rend(); ++axis) {
      if ((*times)[*axis] != 1) return false;
      times->erase(times->begin() + static_cast<std::ptrdiff_t>(*axis));
    }
    group.nodes.insert(group.nodes.end(), {repeat, next});
    group.epilogue.push_back({"upadd", {times->begin() + 1, times->end()}});
    group.epilogue_operands.push_back(node(repeat).inputs[0]);
    return true;
  }

  /// s = Sigmoid(x); y = Mul(x, s), and nothing else reads x or s.
  bool take_silu(Group& group, ValueId running) {
    std::set<int> readers(consumers(running).begin(), consumers(running).end());
    if (uses_.is_output[static_cast<std::size_t>(running)] || readers.size() != 2) return false;
    const int sigmoid = *readers.begin(), mul = *readers.rbegin();
    if (node(sigmoid).op != "Sigmoid" || node(mul).op != "Mul" || taken_[index(sigmoid)] || taken_[index(mul)])
      return false;
    const ValueId gate = node(sigmoid).outputs[0];
    const auto& inputs = node(mul).inputs;
    const bool multiplies = (inputs[0] == running && inputs[1] == gate) || (inputs[1] == running && inputs[0] == gate);
    if (!multiplies || only_consumer(gate) != mul) return false;
    group.nodes.push_back(sigmoid);
    group.nodes.push_back(mul);
    group.epilogue.push_back({"silu", {}});
    return true;
  }

  /// Values of the group that are read outside it, or are graph outputs.
  std::vector<ValueId> live_outputs(const std::set<int>& group) const {
    std::vector<ValueId> live;
    for (const int n : group) {
      for (const ValueId id : node(n).outputs) {
        if (id == kAbsent) continue;
        const bool outside = std::any_of(consumers(id).begin(), consumers(id).end(),
                                         [&](int consumer) { return !group.contains(consumer); });
        if (outside || uses_.is_output[static_cast<std::size_t>(id)]) live.push_back(id);
      }
    }
    return live;
  }

  /// Whether `n` may join: elementwise, one output, and what it reads from the group has the shape of its output.
  bool can_join(int n, const std::set<int>& group) const {
    const Node& candidate = node(n);
    if (taken_[index(n)] || group.contains(n) || is_view(candidate) || !is_elementwise(candidate)) return false;
    return std::all_of(candidate.inputs.begin(), candidate.inputs.end(), [&](ValueId id) {
      if (id == kAbsent) return true;
      const int producer = uses_.producer[static_cast<std::size_t>(id)];
      return producer < 0 || !group.contains(producer) || graph_.sizes(id) == graph_.sizes(candidate.outputs[0]);
    });
  }

  void grow_freely(Group& group) {
    std::set<int> members(group.nodes.begin(), group.nodes.end());
    std::set<int> best = members;
    while (members.size() < kLargestGroup && members.size() <= best.size() + kLookahead) {
      int next = -1;
      for (const ValueId id : live_outputs(members)) {
        for (const int n : consumers(id)) {
          if (can_join(n, members) && (next < 0 || n < next)) next = n;
        }
      }
      if (next < 0) break;
      members.insert(next);
      if (live_outputs(members).size() == 1) best = members;
    }
    if (is_elementwise(node(group.nodes[0]))) take_producers(best);
    group.nodes.assign(best.begin(), best.end());
  }

  /// Elementwise nodes of the same shape whose only reader is in the group: they are computed where they are used.
  void take_producers(std::set<int>& group) const {
    const Sizes full = graph_.sizes(node(*group.rbegin()).outputs[0]);
    bool changed = true;
    while (changed && group.size() < kLargestGroup) {
      changed = false;
      for (const int member : std::vector<int>(group.begin(), group.end())) {
        for (const ValueId id : node(member).inputs) {
          const int producer = id == kAbsent ? -1 : uses_.producer[static_cast<std::size_t>(id)];
          if (producer < 0 || group.contains(producer) || taken_[index(producer)]) continue;
          if (is_view(node(producer)) || !is_elementwise(node(producer)) || graph_.sizes(id) != full) continue;
          const int consumer = only_consumer(id);
          if (consumer < 0 || !group.contains(consumer) || group.size() >= kLargestGroup) continue;
          group.insert(producer);
          changed = true;
        }
      }
    }
  }

  const Graph& graph_;
  bool fuse_nodes_;
  Uses uses_;
  std::vector<bool> taken_;
};

std::optional<Anchor> conv_anchor(const Graph& graph, const Node& node) {
  const bool blocks = ops::channel_block(node.layout) > 0;
  if (!blocks && graph.sizes(node.inputs[1]).size() != 4) return std::nullopt;
  Anchor anchor;
  anchor.kind = Anchor::Kind::Conv2d;
  anchor.channels = ops::SpatialLayout(node.layout, graph.sizes(node.outputs[0]).size()).channels();
  anchor.weights_constant = graph.value(node.inputs[1]).is_constant();
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kAbsent;
  if (has_bias && anchor.weights_constant && !graph.value(node.inputs[2]).is_constant()) return std::nullopt;
  return anchor;
}

std::optional<Anchor> matmul_anchor(const Graph& graph, const Node& node) {
  const Sizes a = graph.sizes(node.inputs[0]), b = graph.sizes(node.inputs[1]);
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const bool same_batch = a.size() == b.size() && std::equal(a.begin(), a.end() - 2, b.begin());
  if (b.size() != 2 && !same_batch) return std::nullopt;
  return Anchor{
      Anchor::Kind::Matmul, {graph.sizes(node.outputs[0]).size() - 1}, graph.value(node.inputs[1]).is_constant()};
}

}  // namespace

bool is_view(const Node& node) { return class_of(node) == ops::OperatorClass::View; }

std::optional<Anchor> anchor_of(const Graph& graph, const Node& node) {
  if (node.op != "Conv" && node.op != "MatMul") return std::nullopt;
  if (!ir::is_float(graph.value(node.outputs[0]).dtype)) return std::nullopt;
  return node.op == "Conv" ? conv_anchor(graph, node) : matmul_anchor(graph, node);
}

std::vector<Group> fuse(const Graph& graph, bool fuse_nodes) { return Fusion(graph, fuse_nodes).run(); }

}  // namespace temper::graph
