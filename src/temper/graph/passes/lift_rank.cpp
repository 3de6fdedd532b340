#include "temper/graph/passes/lift_rank.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/graph/passes/dead_code.h"
#include "temper/ops/conv_transpose.h"
#include "temper/ops/registry.h"

namespace temper::graph {
namespace {

constexpr std::array<std::string_view, 2> kConvolutions{"Conv", "ConvTranspose"};
constexpr std::array<std::string_view, 4> kPools{"AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// [.., x] → [.., 1, x]; what has no second axis from the end broadcasts alike with or without it.
Sizes lifted(Sizes sizes) {
  if (sizes.size() >= 2) sizes.insert(sizes.end() - 1, 1);
  return sizes;
}

class LiftRank {
 public:
  explicit LiftRank(Graph& graph) : graph_(graph) {}

  void run() {
    for (Node& node : std::exchange(graph_.nodes, {})) {
      if (is_spatial(node)) {
        lift_attributes(node);
        lift(std::move(node));
      } else if (follows(node)) {
        lift(std::move(node));
      } else {
        for (const ValueId id : node.inputs) need(id);
        graph_.nodes.push_back(std::move(node));
      }
    }
    for (const ValueId id : graph_.outputs) need(id);
    remove_dead_code(graph_);
  }

 private:
  struct Twin {
    ValueId wide = kAbsent;  ///< the value with four axes
    bool pending = false;    ///< the value itself is not computed yet: nobody has asked for it
  };

  std::size_t rank(ValueId id) const { return graph_.value(id).shape->size(); }
  Twin& twin(ValueId id) {
    twins_.resize(graph_.values.size());
    return twins_[static_cast<std::size_t>(id)];
  }

  bool is_spatial(const Node& node) const {
    const bool convolution = is_one_of(kConvolutions, node.op);
    if (!(convolution || is_one_of(kPools, node.op)) || node.outputs.size() != 1 || rank(node.inputs[0]) != 3)
      return false;
    return !convolution || graph_.value(node.inputs[1]).is_constant();
  }

  bool follows(const Node& node) {
    const ops::Operator* op = ops::find_operator(node.op);
    if (op == nullptr || op->kind != ops::OperatorClass::Elementwise || node.op == "BatchNormalization" ||
        node.outputs.size() != 1 || rank(node.outputs[0]) != 3)
      return false;
    bool any = false;
    for (const ValueId id : node.inputs) {
      if (id == kAbsent || graph_.value(id).is_constant()) continue;
      if (twin(id).wide == kAbsent) return false;
      any = true;
    }
    return any;
  }

  void reshape(ValueId from, ValueId to, const std::string& name) {
    const ValueId shape = graph_.add_integers(name + ".shape", graph_.sizes(to));
    graph_.nodes.push_back(Node{"Reshape", 14, name, {from, shape}, {to}, {}});
  }

  ValueId add_wide(ValueId id) {
    const Value source = graph_.value(id);
    const ValueId wide = graph_.add_value(Value{source.name + ".2d", source.dtype, {}, {}, source.source});
    graph_.set_type(wide, source.dtype, lifted(graph_.sizes(id)));
    return wide;
  }

  ValueId wide(ValueId id) {
    if (id == kAbsent || rank(id) < 2) return id;
    if (twin(id).wide != kAbsent) return twin(id).wide;
    const Value source = graph_.value(id);
    ValueId result = kAbsent;
    if (source.is_constant()) {
      result = graph_.add_constant(source.name + ".2d", reshaped(*source.data, lifted(source.data->type.shape)));
    } else {
      result = add_wide(id);
      reshape(id, result, graph_.value(result).name);
    }
    twin(id).wide = result;
    return result;
  }

  /// Makes sure that the value itself is there.
  void need(ValueId id) {
    if (id == kAbsent || !twin(id).pending) return;
    twin(id).pending = false;
    reshape(twin(id).wide, id, graph_.value(id).name + ".1d");
  }

  void lift(Node node) {
    for (ValueId& id : node.inputs) id = wide(id);
    const ValueId out = node.outputs[0], result = add_wide(out);
    twin(out) = Twin{result, true};
    node.outputs[0] = result;
    graph_.nodes.push_back(std::move(node));
  }

  void lift_attributes(Node& node) const {
    if (node.op.starts_with("Global")) return;
    const ops::Node bound = bind_placeholders(graph_, node);
    const bool convolution = is_one_of(kConvolutions, node.op);
    std::optional<std::vector<std::int64_t>> kernel;
    if (convolution) kernel = std::vector{graph_.sizes(node.inputs[1])[2]};
    const ops::WindowAxis axis =
        node.op == "ConvTranspose"
            ? ops::transposed_window_axes(bound, graph_.sizes(node.inputs[0]), graph_.sizes(node.inputs[1]))[0]
            : ops::window_axes(bound, graph_.sizes(node.inputs[0]), kernel)[0];
    ops::Attributes& a = node.attributes;
    const std::string auto_pad = a.text("auto_pad", "NOTSET");
    const bool shaped = node.op == "ConvTranspose" && (a.has("output_shape") || auto_pad.starts_with("SAME"));
    a.set("kernel_shape", std::vector<std::int64_t>{1, axis.kernel});
    a.set("strides", std::vector<std::int64_t>{1, axis.stride});
    a.set("dilations", std::vector<std::int64_t>{1, axis.dilation});
    a.set("pads", std::vector<std::int64_t>{0, axis.pad_begin, 0, axis.pad_end});
    a.set("auto_pad", std::string("NOTSET"));
    if (shaped) {
      a.set("output_shape", std::vector<std::int64_t>{1, axis.output});
      if (auto_pad == "SAME_UPPER") a.set("auto_pad", auto_pad);
    } else if (a.has("output_padding")) {
      a.set("output_padding", std::vector<std::int64_t>{0, a.integers("output_padding")[0]});
    }
  }

  Graph& graph_;
  std::vector<Twin> twins_;
};

}  // namespace

void lift_rank(Graph& graph) { LiftRank(graph).run(); }

}  // namespace temper::graph
