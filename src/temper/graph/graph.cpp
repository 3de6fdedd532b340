#include "temper/graph/graph.h"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

#include "temper/support/error.h"

namespace temper::graph {
namespace {

std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

std::string describe(const Graph& graph, ValueId id) {
  if (id == kAbsent) return "-";
  const Value& value = graph.value(id);
  std::string text = value.name + ":" + std::string(ir::to_string(value.dtype));
  text += value.shape ? to_string(*value.shape) : "[...]";
  return text;
}

/// Names the nodes on one cycle among those that could not be sorted.
std::string find_cycle(const Graph& graph, const Uses& uses, const std::vector<int>& waiting) {
  int node = -1;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] > 0) node = static_cast<int>(i);
  }
  // Walking backwards from any unsorted node through unsorted producers must run into itself.
  std::vector<int> path;
  std::set<int> seen;
  while (seen.insert(node).second) {
    path.push_back(node);
    for (const ValueId input : graph.nodes[static_cast<std::size_t>(node)].inputs) {
      const int producer = input == kAbsent ? -1 : uses.producer[index(input)];
      if (producer >= 0 && waiting[static_cast<std::size_t>(producer)] > 0) {
        node = producer;
        break;
      }
    }
  }
  std::string text = graph.nodes[static_cast<std::size_t>(node)].name;
  const auto start = std::find(path.begin(), path.end(), node);
  for (auto it = path.rbegin(); it != std::make_reverse_iterator(start); ++it) {
    text += " -> " + graph.nodes[static_cast<std::size_t>(*it)].name;
  }
  return text;
}

}  // namespace

std::string to_string(const SymbolicShape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i) text += ",";
    if (shape[i].size) {
      text += std::to_string(*shape[i].size);
    } else {
      text += shape[i].symbol.empty() ? "?" : shape[i].symbol;
    }
  }
  return text + "]";
}

ValueId Graph::add_value(Value value) {
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(values.begin(), values.end(), [&](const Value& other) { return other.name == candidate; });
  };
  if (taken(value.name)) {
    int suffix = 1;
    while (taken(value.name + "." + std::to_string(suffix))) ++suffix;
    value.name += "." + std::to_string(suffix);
  }
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Graph::add_constant(std::string constant_name, ops::TensorValue data) {
  const ValueId id = add_value(Value{std::move(constant_name), data.type.dtype, {}, {}});
  set_type(id, data.type.dtype, data.type.shape);
  value(id).data = std::move(data);
  return id;
}

ValueId Graph::add_integers(std::string constant_name, const std::vector<std::int64_t>& integers) {
  const ops::TensorType type{ir::DType::I64, {static_cast<std::int64_t>(integers.size())}};
  return add_constant(std::move(constant_name), ops::TensorValue::from_integers(type, integers));
}

bool Graph::has_known_shape(ValueId id) const {
  const auto& shape = value(id).shape;
  return shape && std::all_of(shape->begin(), shape->end(), [](const Dimension& d) { return d.size.has_value(); });
}

Sizes Graph::sizes(ValueId id) const {
  const Value& v = value(id);
  if (!has_known_shape(id)) {
    throw Error(ErrorCode::Unsupported,
                "the shape of '" + v.name + "' is not known" + (v.shape ? ": " + to_string(*v.shape) : std::string()),
                "value '" + v.name + "'", "fix the input shapes: --shape NAME=1,3,224,224");
  }
  Sizes sizes;
  for (const Dimension& d : *v.shape) sizes.push_back(*d.size);
  return sizes;
}

void Graph::set_type(ValueId id, ir::DType dtype, const Sizes& sizes) {
  Value& v = value(id);
  v.dtype = dtype;
  v.shape.emplace();
  for (const std::int64_t size : sizes) v.shape->push_back(Dimension{size, {}});
}

Uses find_uses(const Graph& graph) {
  Uses uses;
  uses.producer.assign(graph.values.size(), -1);
  uses.consumers.resize(graph.values.size());
  uses.is_output.assign(graph.values.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId id : graph.nodes[n].inputs) {
      if (id != kAbsent) uses.consumers[index(id)].push_back(static_cast<int>(n));
    }
    for (const ValueId id : graph.nodes[n].outputs) {
      if (id != kAbsent) uses.producer[index(id)] = static_cast<int>(n);
    }
  }
  for (const ValueId id : graph.outputs) uses.is_output[index(id)] = true;
  return uses;
}

void sort_topologically(Graph& graph) {
  const Uses uses = find_uses(graph);
  std::vector<int> waiting(graph.nodes.size(), 0);  // inputs of each node that are not computed yet
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId id : graph.nodes[n].inputs) waiting[n] += id != kAbsent && uses.producer[index(id)] >= 0;
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t n = 0; n < waiting.size(); ++n) {
    if (waiting[n] == 0) ready.push(n);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t n = ready.top();
    ready.pop();
    order.push_back(n);
    for (const ValueId id : graph.nodes[n].outputs) {
      if (id == kAbsent) continue;
      for (const int consumer : uses.consumers[index(id)]) {
        if (--waiting[static_cast<std::size_t>(consumer)] == 0) ready.push(static_cast<std::size_t>(consumer));
      }
    }
  }
  if (order.size() != graph.nodes.size()) {
    throw Error(ErrorCode::InvalidModel, "the graph has a cycle: " + find_cycle(graph, uses, waiting), "graph",
                "a model is a directed graph without cycles; the file is damaged or was built wrongly");
  }
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (const std::size_t n : order) sorted.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(sorted);
}

void replace_uses(Graph& graph, ValueId from, ValueId to) {
  for (Node& node : graph.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

void drop_unused_values(Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  const auto mark = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != kAbsent) used[index(id)] = true;
    }
  };
  mark(graph.inputs);
  mark(graph.outputs);
  for (const Node& node : graph.nodes) {
    mark(node.inputs);
    mark(node.outputs);
  }
  std::vector<ValueId> renumbered(graph.values.size(), kAbsent);
  std::vector<Value> kept;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = static_cast<ValueId>(kept.size());
    kept.push_back(std::move(graph.values[i]));
  }
  graph.values = std::move(kept);
  const auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id != kAbsent) id = renumbered[index(id)];
    }
  };
  renumber(graph.inputs);
  renumber(graph.outputs);
  for (Node& node : graph.nodes) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
}

void verify(const Graph& graph) {
  std::set<std::string_view> names;
  std::vector<bool> defined(graph.values.size(), false);
  const auto check_range = [&](ValueId id, const std::string& where) {
    TEMPER_CHECK(id >= 0 && index(id) < graph.values.size(), "value index out of range at " + where);
  };
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    TEMPER_CHECK(names.insert(graph.values[i].name).second, "two values are called '" + graph.values[i].name + "'");
    const Value& value = graph.values[i];
    TEMPER_CHECK(value.order.empty() || (value.shape && value.order.size() == value.shape->size()),
                 "the order of '" + value.name + "' does not fit its rank");
    defined[i] = graph.values[i].is_constant();
  }
  for (const ValueId id : graph.inputs) {
    check_range(id, "the graph inputs");
    TEMPER_CHECK(!defined[index(id)], "input '" + graph.value(id).name + "' is defined twice");
    defined[index(id)] = true;
  }
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) {
      if (id == kAbsent) continue;
      check_range(id, node.name);
      TEMPER_CHECK(defined[index(id)], "node '" + node.name + "' reads '" + graph.value(id).name + "' too early");
    }
    for (const ValueId id : node.outputs) {
      if (id == kAbsent) continue;
      check_range(id, node.name);
      TEMPER_CHECK(!defined[index(id)], "value '" + graph.value(id).name + "' is defined twice");
      defined[index(id)] = true;
    }
  }
  TEMPER_CHECK(graph.outputs.size() == graph.output_names.size(), "an output has no name");
  for (const ValueId id : graph.outputs) {
    check_range(id, "the graph outputs");
    TEMPER_CHECK(defined[index(id)], "output '" + graph.value(id).name + "' is not defined");
  }
}

std::string print(const Graph& graph) {
  std::string text = "graph " + graph.name + "\n";
  for (const ValueId id : graph.inputs) text += "  input " + describe(graph, id) + "\n";
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].is_constant()) text += "  constant " + describe(graph, static_cast<ValueId>(i)) + "\n";
  }
  for (const Node& node : graph.nodes) {
    text += "  ";
    for (std::size_t i = 0; i < node.outputs.size(); ++i) text += (i ? ", " : "") + describe(graph, node.outputs[i]);
    text += " = " + node.op + "(";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      text += i ? ", " : "";
      text += node.inputs[i] == kAbsent ? "-" : graph.value(node.inputs[i]).name;
    }
    text += ")  # " + node.name + "\n";
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    text += "  output " + graph.output_names[i] + " = " + describe(graph, graph.outputs[i]) + "\n";
  }
  return text;
}

}  // namespace temper::graph
