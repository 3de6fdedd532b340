// Statements of the loop program.
#include <algorithm>

#include "temper/lower/lowering.h"
#include "temper/support/error.h"

namespace temper::lower {

std::vector<Affine> Lowering::destination(const nest::Statement& s) const {
  const std::size_t rank = program_.stages[static_cast<std::size_t>(s.stage)]->axes.size();
  return {s.axes.begin(), s.axes.begin() + static_cast<std::ptrdiff_t>(rank)};
}

void Lowering::write(const nest::Statement& s, int component, Value value, const Mask& mask) {
  store(s.storage, component, destination(s), value, mask);
}
Value Lowering::read(const nest::Statement& s, int component, const Mask& mask) {
  return load(s.storage, component, destination(s), mask);
}

void Lowering::node(const nest::Statement& s) {
  const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(s.stage)];
  statement_ = &s;
  axes_.clear();
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    const ir::Axis& axis = i < stage.axes.size() ? stage.axes[i] : stage.reduce_axes[i - stage.axes.size()];
    axes_.emplace_back(axis.get(), s.axes[i]);
  }
  Mask mask;
  if (lanes_.active < lanes_.width) mask.tail = emit_.const_mask((std::uint64_t{1} << lanes_.active) - 1, lanes_.width);
  for (const Condition& condition : s.conditions) {
    if (!narrow(mask, condition)) return;
  }
  for (int opaque : s.opaque) {
    if (s.kind == nest::Statement::Kind::Update || s.kind == nest::Statement::Kind::Define) {
      narrow(mask, boolean(evaluate(stage.where[static_cast<std::size_t>(opaque)], mask)));
    }
  }
  switch (s.kind) {
    case nest::Statement::Kind::Define: return define(s, mask);
    case nest::Statement::Kind::Init: return initialise(s, mask);
    case nest::Statement::Kind::Update: return update(s, mask);
    case nest::Statement::Kind::Finish: return finish(s, mask);
  }
}

void Lowering::define(const nest::Statement& s, const Mask& mask) {
  const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(s.stage)];
  std::vector<Value> values;
  for (const ir::Expr& body : stage.body) values.push_back(evaluate(body, mask));
  for (std::size_t c = 0; c < values.size(); ++c) write(s, static_cast<int>(c), values[c], mask);
}

void Lowering::initialise(const nest::Statement& s, const Mask& mask) {
  const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(s.stage)];
  const int partials = program_.storages[static_cast<std::size_t>(s.storage)].lane_partials;
  for (std::size_t c = 0; c < stage.body.size(); ++c) {
    const bool from_init = !stage.init.empty() && partials == 0;
    Value v = evaluate(from_init ? stage.init[c] : stage.reducer->identity[c], mask);
    if (partials > 0) v = emit_.widen(v, partials);
    write(s, static_cast<int>(c), v, mask);
  }
}

void Lowering::update(const nest::Statement& s, const Mask& mask) {
  const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(s.stage)];
  const ir::Reducer& reducer = *stage.reducer;
  const int partials = program_.storages[static_cast<std::size_t>(s.storage)].lane_partials;
  if (partials > 0 && partials != lanes_.width)
    refuse(s.storage,
           "lane partials of " + std::to_string(partials) + " lanes meet a vector of " + std::to_string(lanes_.width));
  if (partials > 0 && register_elements(s.storage, destination(s))[0] < 0) return;
  std::vector<Value> accumulators;
  for (std::size_t c = 0; c < stage.body.size(); ++c) {
    accumulators.push_back(
        partials > 0
            ? slots(s.storage,
                    static_cast<int>(c))[static_cast<std::size_t>(register_elements(s.storage, destination(s))[0])]
                  .value
            : read(s, static_cast<int>(c), mask));
  }
  std::vector<Param> params;
  for (Value v : accumulators) params.push_back({v, nullptr});
  for (const ir::Expr& body : stage.body) params.push_back({kNoValue, &body});
  // Lanes outside the domain keep what they have. Spatial lanes past the end are never read, so only partials mind the
  // tail.
  Value keep = mask.lanes;
  if (partials > 0) keep = emit_.logical_and(keep, mask.tail);
  std::vector<Value> results;
  for (std::size_t c = 0; c < stage.body.size(); ++c) {
    Value v = keep == kNoValue ? kNoValue : add_product(stage, accumulators[c], keep, mask);
    if (v == kNoValue) {
      v = combine(reducer, static_cast<int>(c), params, mask);
      if (keep != kNoValue) v = emit_.select(keep, v, accumulators[c]);
    }
    if (mask.uniform != kNoValue) v = emit_.select(mask.uniform, v, accumulators[c]);
    results.push_back(v);
  }
  for (std::size_t c = 0; c < results.size(); ++c) {
    if (partials > 0) results[c] = emit_.widen(results[c], partials);
    write(s, static_cast<int>(c), results[c], mask);
  }
}

Value Lowering::add_product(const ir::Stage& stage, Value accumulator, Value keep, const Mask& mask) {
  const ir::ExprNode& combine = *stage.reducer->combine[0];
  const ir::ExprNode* product = as_product(stage.body[0]);
  const auto is_param = [&](std::size_t side) { return combine.args[side]->kind == ir::ExprKind::Param; };
  if (stage.body.size() != 1 || combine.kind != ir::ExprKind::Binary || combine.binary != ir::BinaryOp::Add ||
      !is_param(0) || !is_param(1) || combine.args[0]->index == combine.args[1]->index || product == nullptr)
    return kNoValue;
  // Factors of zero add nothing, whatever lies outside. They are shared by the sums that share a factor, where each sum
  // would need a choice of its own.
  const Value a = zeroed(evaluate(product->args[0], mask), keep), b = zeroed(evaluate(product->args[1], mask), keep);
  const int lanes = std::max({emit_.type(a).lanes, emit_.type(b).lanes, emit_.type(accumulator).lanes});
  const Value sum = emit_.widen(accumulator, lanes);
  return emit_.pure(Op::Fma, emit_.type(sum), {emit_.widen(a, lanes), emit_.widen(b, lanes), sum});
}

std::vector<Value> Lowering::reduce_lanes(const ir::Reducer& reducer, std::vector<Value> partials) {
  const auto merge = [&](const std::vector<Value>& a, const std::vector<Value>& b) {
    std::vector<Param> params;
    for (Value v : a) params.push_back({v, nullptr});
    for (Value v : b) params.push_back({v, nullptr});
    std::vector<Value> out;
    for (int c = 0; c < reducer.arity(); ++c) out.push_back(combine(reducer, c, params, {}));
    return out;
  };
  int lanes = emit_.type(partials[0]).lanes;
  while (lanes > 1 && lanes % 2 == 0) {
    const int half = lanes / 2;
    std::vector<Value> low, high;
    for (Value v : partials) {
      if (half == 1) {
        // A single lane is a scalar.
        low.push_back(emit_.extract(v, 0));
        high.push_back(emit_.extract(v, 1));
        continue;
      }
      std::vector<int> low_lanes, high_lanes;
      for (int i = 0; i < half; ++i) {
        low_lanes.push_back(i);
        high_lanes.push_back(half + i);
      }
      const Type type{emit_.type(v).scalar, half};
      low.push_back(emit_.pure(Op::Shuffle, type, {v, v}, 0, low_lanes));
      high.push_back(emit_.pure(Op::Shuffle, type, {v, v}, 0, high_lanes));
    }
    partials = merge(low, high);
    lanes = half;
  }
  if (lanes == 1) return partials;
  std::vector<Value> total;
  for (Value v : partials) total.push_back(emit_.extract(v, 0));
  for (int lane = 1; lane < lanes; ++lane) {
    std::vector<Value> next;
    for (Value v : partials) next.push_back(emit_.extract(v, lane));
    total = merge(total, next);
  }
  return total;
}

void Lowering::finish(const nest::Statement& s, const Mask& mask) {
  const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(s.stage)];
  const ir::Reducer& reducer = *stage.reducer;
  if (register_elements(s.storage, destination(s))[0] < 0) return;
  const auto element = static_cast<std::size_t>(register_elements(s.storage, destination(s))[0]);
  std::vector<Value> partials;
  for (std::size_t c = 0; c < stage.body.size(); ++c)
    partials.push_back(slots(s.storage, static_cast<int>(c))[element].value);
  std::vector<Value> total = reduce_lanes(reducer, std::move(partials));
  if (!stage.init.empty()) {
    std::vector<Param> params;
    for (const ir::Expr& init : stage.init) params.push_back({evaluate(init, mask), nullptr});
    for (Value v : total) params.push_back({v, nullptr});
    for (std::size_t c = 0; c < total.size(); ++c) total[c] = combine(reducer, static_cast<int>(c), params, mask);
  }
  for (std::size_t c = 0; c < total.size(); ++c)
    slots(s.storage, static_cast<int>(c))[element] = {total[c], Slot::kScalar, ++groups_};
}

}  // namespace temper::lower
