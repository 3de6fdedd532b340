#include "temper/graph/passes/matcher.h"

#include <algorithm>
#include <set>

namespace temper::graph {
namespace {

void collect_between(const Graph& graph, const Uses& uses, std::size_t n, const std::vector<ValueId>& inputs,
                     std::set<std::size_t>& between) {
  if (!between.insert(n).second) return;
  for (const ValueId id : graph.nodes[n].inputs) {
    if (id == kAbsent || std::find(inputs.begin(), inputs.end(), id) != inputs.end()) continue;
    const int producer = uses.producer[static_cast<std::size_t>(id)];
    if (producer >= 0) collect_between(graph, uses, static_cast<std::size_t>(producer), inputs, between);
  }
}

}  // namespace

const Node* Matcher::producer(ValueId id) const {
  if (id == kAbsent) return nullptr;
  const int n = uses_.producer[static_cast<std::size_t>(id)];
  return n < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(n)];
}

const Node* Matcher::producer(ValueId id, std::string_view op) const {
  const Node* node = producer(id);
  return node && node->op == op ? node : nullptr;
}

const Node* Matcher::only_reader(ValueId id) const {
  const auto at = static_cast<std::size_t>(id);
  if (uses_.is_output[at] || uses_.consumers[at].size() != 1) return nullptr;
  return &graph_.nodes[static_cast<std::size_t>(uses_.consumers[at][0])];
}

std::optional<double> Matcher::scalar(ValueId id) const {
  if (id == kAbsent) return std::nullopt;
  const Value& value = graph_.value(id);
  if (!value.is_constant() || value.data->type.elements() != 1 || !ir::is_float(value.dtype)) return std::nullopt;
  return value.data->numbers()[0];
}

std::optional<Matcher::Term> Matcher::plus_constant(ValueId id) const {
  const Node* add = producer(id, "Add");
  if (!add) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    if (const auto k = scalar(add->inputs[i])) return Term{add->inputs[1 - i], *k};
  }
  return std::nullopt;
}

std::optional<Matcher::Term> Matcher::times_constant(const Node& node) const {
  if (node.op == "Div") {
    if (const auto k = scalar(node.inputs[1])) return Term{node.inputs[0], 1 / *k};
  }
  if (node.op == "Mul") {
    for (std::size_t i = 0; i < 2; ++i) {
      if (const auto k = scalar(node.inputs[i])) return Term{node.inputs[1 - i], *k};
    }
  }
  return std::nullopt;
}

Matcher::Product Matcher::product(ValueId id, int depth) const {
  if (const Node* mul = producer(id, "Mul"); mul && depth > 0) {
    Product all;
    for (const ValueId input : mul->inputs) {
      const Product part = product(input, depth - 1);
      all.constant *= part.constant;
      all.factors.insert(all.factors.end(), part.factors.begin(), part.factors.end());
    }
    return all;
  }
  if (const Node* div = producer(id, "Div"); div && depth > 0) {
    if (const auto k = scalar(div->inputs[1])) {
      Product all = product(div->inputs[0], depth - 1);
      all.constant /= *k;
      return all;
    }
  }
  if (const auto k = scalar(id)) return Product{*k, {}};
  return Product{1, {id}};
}

std::vector<std::string> Matcher::origins(std::size_t n, const std::vector<ValueId>& inputs) const {
  std::set<std::size_t> between;
  collect_between(graph_, uses_, n, inputs, between);
  std::vector<std::string> names;
  for (const std::size_t i : between) {
    names.insert(names.end(), graph_.nodes[i].origins.begin(), graph_.nodes[i].origins.end());
  }
  return names;
}

}  // namespace temper::graph
