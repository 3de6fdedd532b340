#include "temper/codegen/llvm/linear.h"

namespace temper::codegen {
namespace {

using lower::Op;
constexpr std::size_t kMaxTerms = 8;

std::int64_t wrapping_multiply_add(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) +
                                   static_cast<std::uint64_t>(c));
}

/// The constant that all lanes have, if they have one.
std::optional<std::int64_t> splat_constant(const LaneLinear& v) {
  if (!v.base.is_constant()) return std::nullopt;
  for (const std::int64_t lane : v.lanes) {
    if (lane != v.lanes.front()) return std::nullopt;
  }
  return v.base.constant + v.lanes.front();
}

}  // namespace

std::optional<Linear> add(const Linear& a, const Linear& b, std::int64_t scale) {
  Linear sum{wrapping_multiply_add(b.constant, scale, a.constant), {}};
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    if (y == b.terms.end() || (x != a.terms.end() && x->first < y->first)) {
      sum.terms.push_back(*x++);
    } else if (x == a.terms.end() || y->first < x->first) {
      sum.terms.emplace_back(y->first, wrapping_multiply_add(y->second, scale, 0));
      ++y;
    } else {
      sum.terms.emplace_back(x->first, wrapping_multiply_add(y->second, scale, x->second));
      ++x, ++y;
    }
    if (sum.terms.back().second == 0) sum.terms.pop_back();
  }
  if (sum.terms.size() > kMaxTerms) return std::nullopt;
  return sum;
}

Linear scaled(const Linear& a, std::int64_t factor) { return *add(Linear{}, a, factor); }

std::optional<LaneLinear> add(const LaneLinear& a, const LaneLinear& b, std::int64_t scale) {
  const std::optional<Linear> base = add(a.base, b.base, scale);
  if (!base) return std::nullopt;
  LaneLinear sum{*base, a.lanes};
  for (std::size_t i = 0; i < sum.lanes.size(); ++i)
    sum.lanes[i] = wrapping_multiply_add(b.lanes[i], scale, a.lanes[i]);
  return sum;
}

const Linear& LinearForms::scalar(lower::Value v) {
  std::optional<Linear>& form = scalars_[static_cast<std::size_t>(v)];
  if (!form) form = Linear::of(v);
  return *form;
}

bool LinearForms::visit(const lower::Instr& instr) {
  if (instr.result == lower::kNoValue) return false;
  const auto r = static_cast<std::size_t>(instr.result);
  const lower::Type& type = kernel_.types[r];
  if (type.scalar != lower::Scalar::I64) return false;
  if (type.lanes > 1) {
    vectors_[r] = vector_form(instr);
    return false;
  }
  scalars_[r] = scalar_form(instr);
  return scalars_[r].has_value();
}

std::optional<Linear> LinearForms::scalar_form(const lower::Instr& i) {
  switch (i.op) {
    case Op::ConstInt: return Linear::of(i.imm);
    case Op::Add: return add(scalar(i.args[0]), scalar(i.args[1]), 1);
    case Op::Sub: return add(scalar(i.args[0]), scalar(i.args[1]), -1);
    case Op::Mul: {
      const Linear &a = scalar(i.args[0]), &b = scalar(i.args[1]);
      if (a.is_constant()) return scaled(b, a.constant);
      if (b.is_constant()) return scaled(a, b.constant);
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<LaneLinear> LinearForms::vector_form(const lower::Instr& i) {
  const auto count = static_cast<std::size_t>(kernel_.types[static_cast<std::size_t>(i.result)].lanes);
  switch (i.op) {
    case Op::ConstInt: return LaneLinear{Linear::of(i.imm), std::vector<std::int64_t>(count, 0)};
    case Op::Iota: {
      LaneLinear v{{}, std::vector<std::int64_t>(count)};
      for (std::size_t lane = 0; lane < count; ++lane) v.lanes[lane] = static_cast<std::int64_t>(lane);
      return v;
    }
    case Op::Broadcast: return LaneLinear{scalar(i.args[0]), std::vector<std::int64_t>(count, 0)};
    case Op::Add:
    case Op::Sub:
    case Op::Mul: break;
    default: return std::nullopt;
  }
  const std::optional<LaneLinear>&a = lanes(i.args[0]), &b = lanes(i.args[1]);
  if (!a || !b) return std::nullopt;
  if (i.op != Op::Mul) return add(*a, *b, i.op == Op::Add ? 1 : -1);
  const LaneLinear zero{{}, std::vector<std::int64_t>(count, 0)};
  if (const auto factor = splat_constant(*b)) return add(zero, *a, *factor);
  if (const auto factor = splat_constant(*a)) return add(zero, *b, *factor);
  return std::nullopt;
}

}  // namespace temper::codegen
