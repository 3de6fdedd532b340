// Looks backwards from a value, for passes that recognise one operator written as several nodes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "temper/graph/graph.h"

namespace temper::graph {

/// Points into `graph`, whose nodes must keep their places and outputs while it is used.
class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph), uses_(find_uses(graph)) {}

  /// The node that defines `id`, or null.
  const Node* producer(ValueId id) const;
  /// The same where its operator is `op`, or null.
  const Node* producer(ValueId id, std::string_view op) const;
  /// The one node that reads `id`, once, or null; null for a graph output.
  const Node* only_reader(ValueId id) const;

  /// The number behind a constant of one element.
  std::optional<double> scalar(ValueId id) const;

  /// x and k of x + k (either order), or nothing.
  struct Term {
    ValueId value;
    double constant;
  };
  std::optional<Term> plus_constant(ValueId id) const;

  /// x and k of x · k (either order) or x / (1/k), or nothing.
  std::optional<Term> times_constant(const Node& node) const;

  /// A product flattened through Mul, and Div by constants: constant · factors.
  struct Product {
    double constant = 1;
    std::vector<ValueId> factors;
  };
  Product product(ValueId id, int depth = 4) const;

  /// Origins of node `n` and of the nodes between it and `inputs`, in the order of the graph.
  std::vector<std::string> origins(std::size_t n, const std::vector<ValueId>& inputs) const;

  const Graph& graph() const { return graph_; }

 private:
  const Graph& graph_;
  Uses uses_;
};

}  // namespace temper::graph
