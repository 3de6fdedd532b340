#include "temper/graph/split_axes.h"

#include <map>
#include <memory>
#include <utility>

#include "temper/ir/visit.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

/// Rebuilds stages bottom-up, each once.
class Splitter {
 public:
  Splitter(const std::vector<std::int64_t>& inner, const std::vector<int>& order) : inner_(inner), order_(order) {}

  ir::StagePtr rebuilt(const ir::StagePtr& stage) {
    const auto found = done_.find(stage.get());
    if (found != done_.end()) return found->second;
    TEMPER_CHECK(stage->axes.size() == inner_.size(), "a stage has other axes than the output: " + stage->name);
    auto copy = std::make_shared<ir::Stage>(*stage);
    Parts parts;
    for (std::size_t i = 0; i < inner_.size(); ++i) add_parts(stage->axes[i], inner_[i], parts.emplace_back());
    copy->axes = in_order(parts);
    for (auto* list : {&copy->body, &copy->init, &copy->where}) {
      for (ir::Expr& expr : *list) {
        expr = ir::rewrite(expr, [&](const ir::Expr& e) {
          return e->kind == ir::ExprKind::Load ? read(e, *stage, parts) : ir::Expr();
        });
      }
    }
    return done_[stage.get()] = copy;
  }

 private:
  using Parts = std::vector<std::vector<ir::Axis>>;  ///< of each axis: itself, or the two that it becomes

  static void add_parts(const ir::Axis& axis, std::int64_t inner, std::vector<ir::Axis>& parts) {
    if (inner == 0) {
      parts.push_back(axis);
      return;
    }
    const std::int64_t extent = axis.extent().value();
    TEMPER_CHECK(extent % inner == 0, "axis '" + axis.name() + "' cannot be cut into equal parts");
    parts.emplace_back(axis.name(), extent / inner);
    parts.emplace_back(axis.name() + "_inner", inner);
  }

  template <class Element>
  std::vector<Element> in_order(const std::vector<std::vector<Element>>& parts) const {
    std::vector<Element> flat, result;
    for (const std::vector<Element>& part : parts) flat.insert(flat.end(), part.begin(), part.end());
    TEMPER_CHECK(flat.size() == order_.size(), "the order names as many axes as there are parts");
    for (const int from : order_) result.push_back(flat[static_cast<std::size_t>(from)]);
    return result;
  }

  /// The axis of `reader` that an index is, or -1.
  static int axis_of(const ir::Expr& index, const ir::Stage& reader) {
    for (std::size_t i = 0; i < reader.axes.size(); ++i) {
      if (index->kind == ir::ExprKind::Var && index->axis == reader.axes[i]) return static_cast<int>(i);
    }
    return -1;
  }

  ir::Expr read(const ir::Expr& load, const ir::Stage& reader, const Parts& parts) {
    std::vector<std::vector<ir::Expr>> index;
    std::vector<std::int64_t> cuts;
    for (const ir::Expr& at : load->args) {
      const int axis = axis_of(at, reader);
      cuts.push_back(axis < 0 ? 0 : inner_[static_cast<std::size_t>(axis)]);
      std::vector<ir::Expr>& places = index.emplace_back();
      if (cuts.back() == 0) {
        places.push_back(at);
      } else {
        for (const ir::Axis& part : parts[static_cast<std::size_t>(axis)]) places.emplace_back(part);
      }
    }
    if (load->stage->kind != ir::StageKind::Placeholder) {
      TEMPER_CHECK(cuts == inner_, "'" + load->stage->name + "' is read at other places than the reader's own");
      return ir::Tensor(rebuilt(load->stage), load->index).at(in_order(index));
    }
    std::vector<ir::Expr> flat;
    for (const std::vector<ir::Expr>& places : index) flat.insert(flat.end(), places.begin(), places.end());
    return ir::Tensor(placeholder(load->stage, cuts), load->index).at(std::move(flat));
  }

  ir::StagePtr placeholder(const ir::StagePtr& stage, const std::vector<std::int64_t>& cuts) {
    const auto [entry, is_new] = cuts_.emplace(stage.get(), cuts);
    TEMPER_CHECK(entry->second == cuts, "'" + stage->name + "' is read at axes that are cut differently");
    if (!is_new) return done_.at(stage.get());
    auto copy = std::make_shared<ir::Stage>(*stage);
    copy->axes.clear();
    for (std::size_t i = 0; i < cuts.size(); ++i) add_parts(stage->axes[i], cuts[i], copy->axes);
    return done_[stage.get()] = copy;
  }

  const std::vector<std::int64_t>& inner_;
  const std::vector<int>& order_;
  std::map<const ir::Stage*, ir::StagePtr> done_;
  std::map<const ir::Stage*, std::vector<std::int64_t>> cuts_;  ///< of each placeholder
};

}  // namespace

ir::Compute split_axes(const ir::Compute& compute, const std::vector<std::int64_t>& inner,
                       const std::vector<int>& order) {
  Splitter splitter(inner, order);
  std::vector<ir::Tensor> outputs;
  for (const ir::StagePtr& output : compute.outputs) outputs.emplace_back(splitter.rebuilt(output));
  ir::Compute result = ir::make_compute(outputs, compute.parameters);
  ir::verify(result);
  return result;
}

}  // namespace temper::graph
