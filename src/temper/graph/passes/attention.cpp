#include "temper/graph/passes/attention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "temper/graph/passes/dead_code.h"
#include "temper/graph/passes/matcher.h"

namespace temper::graph {
namespace {

/// With fewer queries most lanes of a vector would be idle.
constexpr std::int64_t kFewestQueries = 8;

using Order = std::vector<std::int64_t>;

/// An operand of a product, looked at through constant factors and transposes.
struct Source {
  ValueId value = kAbsent;
  double scale = 1;
  Order order;  ///< axis a of the operand is axis order[a] of the value
};

/// What one attention reads, and the node that it takes the place of.
struct Found {
  ValueId q = kAbsent, k = kAbsent, v = kAbsent, mask = kAbsent, out = kAbsent;
  double scale = 1;
  bool heads_inside = false;  ///< operands and output are [batch, length, heads, size]
};

Order transpose_order(const Node& node, std::size_t rank) {
  Order reversed;
  for (std::size_t i = rank; i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
  return node.attributes.integers("perm", reversed);
}

/// Every way to see `id`, the value itself first.
std::vector<Source> sources(const Matcher& match, ValueId id) {
  Source at{id, 1, {}};
  const std::size_t rank = match.graph().sizes(id).size();
  for (std::size_t i = 0; i < rank; ++i) at.order.push_back(static_cast<std::int64_t>(i));
  std::vector<Source> all{at};
  while (const Node* node = match.producer(at.value)) {
    if (const auto scaled = match.times_constant(*node)) {
      if (match.graph().sizes(scaled->value) != match.graph().sizes(at.value)) break;
      at.scale *= scaled->constant;
      at.value = scaled->value;
    } else if (node->op == "Transpose") {
      const Order inner = transpose_order(*node, rank);
      for (std::int64_t& axis : at.order) axis = inner[static_cast<std::size_t>(axis)];
      at.value = node->inputs[0];
    } else {
      break;
    }
    all.push_back(at);
  }
  return all;
}

/// The one that is furthest away and has this order.
std::optional<Source> in_order(const std::vector<Source>& all, const Order& order) {
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Source& s) { return s.order == order; });
  return found == all.rend() ? std::nullopt : std::optional(*found);
}

struct Scores {
  const Node* product = nullptr;
  double scale = 1;
};
/// MatMul behind multiplications by constants, each read once; `id` too.
std::optional<Scores> scaled_product(const Matcher& match, ValueId id) {
  Scores scores;
  while (const Node* node = match.only_reader(id) ? match.producer(id) : nullptr) {
    if (node->op == "MatMul") {
      scores.product = node;
      return scores;
    }
    const auto scaled = match.times_constant(*node);
    if (!scaled || match.graph().sizes(scaled->value) != match.graph().sizes(id)) return std::nullopt;
    scores.scale *= scaled->constant;
    id = scaled->value;
  }
  return std::nullopt;
}

struct Orders {
  bool heads_inside;
  Order rows, columns;  ///< of Q and V; of Kᵀ
};
/// How operands of rank 4 or 3 may be stored, the best first.
std::vector<Orders> possible_orders(std::size_t rank) {
  if (rank == 3) return {{false, {0, 1, 2}, {0, 2, 1}}};
  return {{true, {0, 2, 1, 3}, {0, 2, 3, 1}}, {false, {0, 1, 2, 3}, {0, 1, 3, 2}}};
}

std::optional<Found> match_attention(const Matcher& match, const Node& root) {
  const Graph& graph = match.graph();
  if (root.op != "MatMul") return std::nullopt;
  const Node* softmax = match.only_reader(root.inputs[0]) ? match.producer(root.inputs[0], "Softmax") : nullptr;
  if (!softmax || !match.only_reader(softmax->inputs[0])) return std::nullopt;
  const ValueId logits = softmax->inputs[0];
  const Sizes shape = graph.sizes(logits);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = softmax->attributes.integer("axis", softmax->opset < 13 ? 1 : -1);
  if ((rank != 3 && rank != 4) || (axis != -1 && axis != rank - 1) || !ir::is_float(graph.value(logits).dtype))
    return std::nullopt;
  Found found;
  auto scores = scaled_product(match, logits);
  if (!scores) {
    const Node* add = match.producer(logits, "Add");
    for (std::size_t i = 0; add && i < 2 && !scores; ++i) {
      if (graph.sizes(add->inputs[i]) != shape) continue;
      scores = scaled_product(match, add->inputs[i]);
      found.mask = add->inputs[1 - i];
    }
    if (!scores) return std::nullopt;
  }
  const std::vector<Source> queries = sources(match, scores->product->inputs[0]),
                            keys = sources(match, scores->product->inputs[1]), values = sources(match, root.inputs[1]);
  const auto same_batch = [&](ValueId id) {
    const Sizes sizes = graph.sizes(id);
    return sizes.size() == shape.size() && std::equal(sizes.begin(), sizes.end() - 2, shape.begin());
  };
  if (shape[shape.size() - 2] < kFewestQueries || !same_batch(scores->product->inputs[0]) ||
      !same_batch(scores->product->inputs[1]) || !same_batch(root.inputs[1]))
    return std::nullopt;
  const Node* behind = match.only_reader(root.outputs[0]);
  for (const Orders& orders : possible_orders(shape.size())) {
    const auto q = in_order(queries, orders.rows), k = in_order(keys, orders.columns),
               v = in_order(values, orders.rows);
    if (!q || !k || !v || v->scale != 1) continue;
    if (orders.heads_inside && !(behind && behind->op == "Transpose" && transpose_order(*behind, 4) == orders.rows))
      continue;
    found.q = q->value;
    found.k = k->value;
    found.v = v->value;
    found.scale = scores->scale * q->scale * k->scale;
    if (!std::isfinite(static_cast<float>(found.scale))) continue;  // a division by zero is no scale
    found.heads_inside = orders.heads_inside;
    found.out = orders.heads_inside ? behind->outputs[0] : root.outputs[0];
    return found;
  }
  return std::nullopt;
}

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph) {}

  /// The nodes that compute `node`'s output as `found` says, instead of it.
  std::vector<Node> replace(const Node& node, const Found& found, std::vector<std::string> origins) {
    nodes_.clear();
    Node attention{"Attention", 23, node.name, {}, {}, {}};
    attention.origins = std::move(origins);
    attention.attributes.set("scale", found.scale);
    if (found.heads_inside) {
      const std::int64_t heads = graph_.sizes(found.q)[2];
      attention.attributes.set("q_num_heads", heads);
      attention.attributes.set("kv_num_heads", heads);
    }
    for (const ValueId id : {found.q, found.k, found.v}) attention.inputs.push_back(seen(id, found));
    if (found.mask != kAbsent) attention.inputs.push_back(mask(found));
    const Sizes out = graph_.sizes(found.out);
    if (attention_sizes(out, found) == out) {
      attention.outputs = {found.out};
      nodes_.push_back(std::move(attention));
    } else {
      const ValueId result = add(found.out, attention_sizes(out, found));
      attention.outputs = {result};
      nodes_.push_back(std::move(attention));
      reshape(result, found.out);
    }
    return std::move(nodes_);
  }

 private:
  /// As the operator takes an operand: [batch, length, heads·size], or [batch, heads, length, size].
  static Sizes attention_sizes(const Sizes& sizes, const Found& found) {
    if (found.heads_inside) return {sizes[0], sizes[1], sizes[2] * sizes[3]};
    if (sizes.size() == 3) return {1, sizes[0], sizes[1], sizes[2]};
    return sizes;
  }

  /// The same elements under another shape.
  ValueId add(ValueId of, const Sizes& sizes) {
    const Value value = graph_.value(of);
    const ValueId id = graph_.add_value(Value{value.name + ".heads", value.dtype, {}, {}, value.source});
    graph_.set_type(id, value.dtype, sizes);
    return id;
  }

  void reshape(ValueId from, ValueId to) {
    const std::string name = graph_.value(to).name + ".view";
    const ValueId shape = graph_.add_integers(name + ".shape", graph_.sizes(to));
    nodes_.push_back(Node{"Reshape", 14, name, {from, shape}, {to}, {}});
  }

  ValueId reshaped(ValueId id, const Sizes& sizes) {
    if (graph_.sizes(id) == sizes) return id;
    const ValueId to = add(id, sizes);
    reshape(id, to);
    return to;
  }

  ValueId seen(ValueId id, const Found& found) { return reshaped(id, attention_sizes(graph_.sizes(id), found)); }

  /// With an axis for the batch where the operands have none.
  ValueId mask(const Found& found) {
    Sizes sizes = graph_.sizes(found.mask);
    if (sizes.size() == 3 && graph_.sizes(found.q).size() == 3) sizes.insert(sizes.begin(), 1);
    return reshaped(found.mask, sizes);
  }

  Graph& graph_;
  std::vector<Node> nodes_;
};

}  // namespace

void recognise_attention(Graph& graph) {
  std::map<ValueId, std::pair<Found, std::vector<std::string>>> found;  // by the value that it computes
  {
    const Matcher match(graph);
    std::map<ValueId, std::size_t> producers;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) producers[graph.nodes[n].outputs[0]] = n;
    for (const Node& node : graph.nodes) {
      const auto attention = match_attention(match, node);
      if (!attention) continue;
      std::vector<ValueId> inputs{attention->q, attention->k, attention->v, attention->mask};
      found[attention->out] = {*attention, match.origins(producers.at(attention->out), inputs)};
    }
  }
  if (found.empty()) return;
  Rewriter rewriter(graph);
  for (Node& node : std::exchange(graph.nodes, {})) {
    const auto entry = node.outputs.empty() ? found.end() : found.find(node.outputs[0]);
    if (entry == found.end()) {
      graph.nodes.push_back(std::move(node));
      continue;
    }
    for (Node& added : rewriter.replace(node, entry->second.first, entry->second.second))
      graph.nodes.push_back(std::move(added));
  }
  remove_dead_code(graph);
}

}  // namespace temper::graph
