#include "temper/ir/compute.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "temper/ir/expr_build.h"
#include "temper/ir/strides.h"
#include "temper/ir/visit.h"
#include "temper/support/error.h"

namespace temper::ir {
namespace {

Tensor input(std::string name, std::vector<Extent> shape, DType dtype, bool is_constant) {
  auto stage = std::make_shared<Stage>();
  stage->kind = StageKind::Placeholder;
  for (std::size_t i = 0; i < shape.size(); ++i) stage->axes.emplace_back("i" + std::to_string(i), std::move(shape[i]));
  stage->name = std::move(name);
  stage->dtypes = {dtype};
  stage->constant = is_constant;
  return Tensor(std::move(stage));
}

/// The reducer that `make` gives for the term's dtype.
Definition reduce_one(Reducer (*make)(DType), Expr term, std::vector<Axis> axes) {
  if (!term) throw Error(ErrorCode::InvalidArgument, "a reduction over an empty expression");
  Reducer reducer = make(term.dtype());
  return reduction(std::move(reducer), {std::move(term)}, std::move(axes));
}

}  // namespace

std::vector<std::int64_t> Stage::shape() const {
  std::vector<std::int64_t> result;
  result.reserve(axes.size());
  for (const Axis& axis : axes) result.push_back(axis.extent().value());
  return result;
}

std::vector<std::int64_t> Stage::memory_strides() const {
  return strides.empty() ? row_major_strides(shape()) : strides;
}

std::int64_t Stage::memory_elements() const { return span_elements(shape(), memory_strides()); }

Expr Tensor::at(std::vector<Expr> index) const {
  for (Expr& e : index) {
    if (e.get() != nullptr && !is_float(e.dtype()) && e.dtype() != DType::Bool) e = cast(std::move(e), DType::I64);
  }
  return exact_load(stage_, component_, std::move(index));
}

Tensor placeholder(std::string name, std::vector<Extent> shape, DType dtype) {
  return input(std::move(name), std::move(shape), dtype, false);
}
Tensor constant(std::string name, std::vector<Extent> shape, DType dtype) {
  return input(std::move(name), std::move(shape), dtype, true);
}

Definition Definition::where(Expr condition) && {
  conditions.push_back(std::move(condition));
  return std::move(*this);
}
Definition Definition::init(Expr value) && {
  init_values.push_back(std::move(value));
  return std::move(*this);
}

Definition reduction(Reducer reducer, std::vector<Expr> terms, std::vector<Axis> axes) {
  Definition definition;
  definition.body = std::move(terms);
  definition.reducer = std::move(reducer);
  definition.reduce_axes = std::move(axes);
  return definition;
}
Definition sum(Expr term, std::vector<Axis> axes) { return reduce_one(sum_reducer, std::move(term), std::move(axes)); }
Definition product(Expr term, std::vector<Axis> axes) {
  return reduce_one(product_reducer, std::move(term), std::move(axes));
}
Definition max_over(Expr term, std::vector<Axis> axes) {
  return reduce_one(max_reducer, std::move(term), std::move(axes));
}
Definition min_over(Expr term, std::vector<Axis> axes) {
  return reduce_one(min_reducer, std::move(term), std::move(axes));
}

Tensor compute(std::string name, std::vector<Extent> shape,
               const std::function<Definition(std::span<const Axis>)>& define, std::vector<std::string> names) {
  if (!names.empty() && names.size() != shape.size()) {
    throw Error(ErrorCode::InvalidArgument,
                std::to_string(names.size()) + " axis names were given for " + std::to_string(shape.size()) + " axes",
                "stage '" + name + "'");
  }
  auto stage = std::make_shared<Stage>();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    stage->axes.emplace_back(names.empty() ? "i" + std::to_string(i) : std::move(names[i]), std::move(shape[i]));
  }
  stage->name = std::move(name);
  Definition definition = define(stage->axes);
  for (const Expr& e : definition.body) {
    if (!e)
      throw Error(ErrorCode::InvalidArgument, "the definition returned an empty expression",
                  "stage '" + stage->name + "'");
    stage->dtypes.push_back(e.dtype());
  }
  stage->body = std::move(definition.body);
  stage->reducer = std::move(definition.reducer);
  stage->reduce_axes = std::move(definition.reduce_axes);
  stage->init = std::move(definition.init_values);
  stage->where = std::move(definition.conditions);
  return Tensor(std::move(stage));
}

void expect_axes(std::span<const Axis> axes, std::size_t count) {
  if (axes.size() == count) return;
  throw Error(ErrorCode::InvalidArgument, "the definition takes " + std::to_string(count) + " axes but the shape has " +
                                              std::to_string(axes.size()));
}

const StagePtr& Compute::stage(std::string_view name) const {
  for (const StagePtr& candidate : stages) {
    if (candidate->name == name) return candidate;
  }
  throw Error(ErrorCode::NotFound, "there is no stage '" + std::string(name) + "'");
}

int Compute::index_of(const Stage* stage) const {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].get() == stage) return static_cast<int>(i);
  }
  return -1;
}

Compute make_compute(const std::vector<Tensor>& outputs, std::vector<Parameter> parameters) {
  Compute compute;
  compute.parameters = std::move(parameters);
  std::vector<StagePtr> computed;
  std::unordered_set<const Stage*> seen;
  auto collect = [&](auto&& self, const StagePtr& stage) -> void {
    if (!seen.insert(stage.get()).second) return;
    for (const Expr& root : expressions(*stage)) {
      for_each_node(root, [&](const Expr& e) {
        if (e->kind == ExprKind::Load) self(self, e->stage);
      });
    }
    (stage->kind == StageKind::Placeholder ? compute.stages : computed).push_back(stage);
  };
  for (const Tensor& output : outputs) {
    if (!output.stage()) throw Error(ErrorCode::InvalidArgument, "an output is an empty tensor");
    collect(collect, output.stage());
    if (std::find(compute.outputs.begin(), compute.outputs.end(), output.stage()) == compute.outputs.end()) {
      compute.outputs.push_back(output.stage());
    }
  }
  compute.stages.insert(compute.stages.end(), computed.begin(), computed.end());
  std::unordered_set<std::string_view> names;
  for (const StagePtr& stage : compute.stages) {
    if (!names.insert(stage->name).second) {
      throw Error(ErrorCode::InvalidArgument, "two stages are named '" + stage->name + "'", {},
                  "give each stage its own name");
    }
  }
  return compute;
}

}  // namespace temper::ir
