#include "temper/graph/permute.h"

#include <map>
#include <memory>
#include <utility>

#include "temper/ir/visit.h"

namespace temper::graph {
namespace {

/// Rebuilds stages bottom-up, each once.
class Rebuilder {
 public:
  Rebuilder(const ir::Stage* placeholder, const std::vector<int>& order) : placeholder_(placeholder), order_(order) {}

  ir::StagePtr rebuilt(const ir::StagePtr& stage) {
    const auto found = done_.find(stage.get());
    if (found != done_.end()) return found->second;
    auto copy = std::make_shared<ir::Stage>(*stage);
    if (stage.get() == placeholder_) {
      for (std::size_t i = 0; i < order_.size(); ++i) copy->axes[static_cast<std::size_t>(order_[i])] = stage->axes[i];
    }
    for (auto* list : {&copy->body, &copy->init, &copy->where}) {
      for (ir::Expr& expr : *list) {
        expr =
            ir::rewrite(expr, [&](const ir::Expr& e) { return e->kind == ir::ExprKind::Load ? read(e) : ir::Expr(); });
      }
    }
    return done_[stage.get()] = copy;
  }

 private:
  ir::Expr read(const ir::Expr& load) {
    std::vector<ir::Expr> index = load->args;
    if (load->stage.get() == placeholder_) {
      for (std::size_t i = 0; i < order_.size(); ++i) index[static_cast<std::size_t>(order_[i])] = load->args[i];
    }
    return ir::Tensor(rebuilt(load->stage), load->index).at(std::move(index));
  }

  const ir::Stage* placeholder_;
  const std::vector<int>& order_;
  std::map<const ir::Stage*, ir::StagePtr> done_;
};

}  // namespace

ir::Compute permute_placeholder(const ir::Compute& compute, const std::string& name, const std::vector<int>& order) {
  Rebuilder rebuilder(compute.stage(name).get(), order);
  std::vector<ir::Tensor> outputs;
  for (const ir::StagePtr& output : compute.outputs) outputs.emplace_back(rebuilder.rebuilt(output));
  ir::Compute result = ir::make_compute(outputs, compute.parameters);
  ir::verify(result);
  return result;
}

}  // namespace temper::graph
