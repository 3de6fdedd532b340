#include <memory>

#include "temper/ir/compute.h"
#include "temper/ir/visit.h"

namespace temper::ir {
namespace {

/// Rebuilds stages bottom-up, each once.
class Rebuilder {
 public:
  explicit Rebuilder(const std::map<std::string, std::vector<std::int64_t>>& strides) : strides_(strides) {}

  StagePtr rebuilt(const StagePtr& stage) {
    const auto found = done_.find(stage.get());
    if (found != done_.end()) return found->second;
    auto copy = std::make_shared<Stage>(*stage);
    if (const auto given = strides_.find(stage->name); given != strides_.end()) copy->strides = given->second;
    for (auto* list : {&copy->body, &copy->init, &copy->where}) {
      for (Expr& expr : *list) {
        expr = rewrite(expr, [&](const Expr& e) { return e->kind == ExprKind::Load ? read(e) : Expr(); });
      }
    }
    return done_[stage.get()] = copy;
  }

 private:
  Expr read(const Expr& load) { return Tensor(rebuilt(load->stage), load->index).at(load->args); }

  const std::map<std::string, std::vector<std::int64_t>>& strides_;
  std::map<const Stage*, StagePtr> done_;
};

}  // namespace

Compute with_strides(const Compute& compute, const std::map<std::string, std::vector<std::int64_t>>& strides) {
  for (const auto& [name, given] : strides) compute.stage(name);
  Rebuilder rebuilder(strides);
  Compute result;
  result.parameters = compute.parameters;
  for (const StagePtr& stage : compute.stages) result.stages.push_back(rebuilder.rebuilt(stage));
  for (const StagePtr& output : compute.outputs) result.outputs.push_back(rebuilder.rebuilt(output));
  verify(result);
  return result;
}

}  // namespace temper::ir
