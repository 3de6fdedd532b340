// Checks what a Compute promises. Reads are proved inside their domain by linear bounds, see `Prover`.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "temper/ir/compute.h"
#include "temper/ir/visit.h"
#include "temper/support/error.h"

namespace temper::ir {
namespace {

constexpr std::array<std::string_view, 4> kReservedNames{"inf", "nan", "inf_f64", "nan_f64"};

bool is_identifier(std::string_view name) {
  if (name.empty() || (std::isalpha(static_cast<unsigned char>(name[0])) == 0 && name[0] != '_')) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

[[noreturn]] void fail(const Stage& stage, std::string what, std::string hint = {}) {
  throw Error(ErrorCode::InvalidArgument, std::move(what), "stage '" + stage.name + "'", std::move(hint));
}

/// constant + Σ coefficient · atom; atoms are numbered by `Prover`.
struct Linear {
  std::int64_t constant = 0;
  std::map<int, std::int64_t> terms;

  void add(const Linear& other, std::int64_t factor) {
    constant += factor * other.constant;
    for (const auto& [atom, coefficient] : other.terms) {
      auto [entry, fresh] = terms.try_emplace(atom, 0);
      entry->second += factor * coefficient;
      if (entry->second == 0) terms.erase(entry);
    }
  }
};

/// Proves 0 <= index < extent from the axes' ranges and from conditions of the form `linear >= 0`. Axes, parameters,
/// and each distinct floor-div, mod, min or max are atoms with a lower and an upper bound that are linear in
/// parameters.
class Prover {
 public:
  explicit Prover(const std::vector<Parameter>& parameters) : parameters_(parameters) {}

  /// Linear form of an index; nothing when it depends on values (gather) or is not affine.
  std::optional<Linear> linear(const Expr& e) {
    switch (e->kind) {
      case ExprKind::Int: return Linear{e->int_value, {}};
      case ExprKind::Var: return axis_atom(e->axis);
      case ExprKind::Binary: break;
      default: return std::nullopt;
    }
    auto a = linear(e->args[0]), b = linear(e->args[1]);
    if (!a || !b) return std::nullopt;
    switch (e->binary) {
      case BinaryOp::Add: a->add(*b, 1); return a;
      case BinaryOp::Sub: a->add(*b, -1); return a;
      case BinaryOp::Mul: {
        if (a->terms.empty()) std::swap(a, b);
        if (!b->terms.empty()) return std::nullopt;
        Linear product;
        product.add(*a, b->constant);
        return product;
      }
      case BinaryOp::FloorDiv:
      case BinaryOp::Mod:
        if (!b->terms.empty() || b->constant <= 0) return std::nullopt;
        return derived_atom(e->binary, *a, *b);
      case BinaryOp::Min:
      case BinaryOp::Max: return derived_atom(e->binary, *a, *b);
      default: return std::nullopt;
    }
  }

  /// Remembers every `linear >= 0` that follows from a condition being `truth`. Returns false when it is not affine.
  bool assume(const Expr& condition, bool truth, std::vector<Linear>& facts) {
    if (condition->kind == ExprKind::Unary && condition->unary == UnaryOp::Not)
      return assume(condition->args[0], !truth, facts);
    if (condition->kind == ExprKind::Int) return true;
    if (condition->kind != ExprKind::Binary) return false;
    const BinaryOp op = condition->binary;
    if (op == BinaryOp::And || op == BinaryOp::Or) {
      std::vector<Linear> gained;
      const bool left = assume(condition->args[0], truth, gained), right = assume(condition->args[1], truth, gained);
      const bool affine = left && right;
      if ((op == BinaryOp::And) == truth) facts.insert(facts.end(), gained.begin(), gained.end());
      return affine;
    }
    if (condition->args[0].dtype() != DType::I64) return false;
    auto a = linear(condition->args[0]), b = linear(condition->args[1]);
    if (!a || !b) return false;
    Linear difference = *a;
    difference.add(*b, -1);  // a - b
    auto fact = [&](std::int64_t sign, std::int64_t shift) {
      Linear result;
      result.add(difference, sign);
      result.constant += shift;
      facts.push_back(std::move(result));
    };
    switch (op) {
      case BinaryOp::Lt: truth ? fact(-1, -1) : fact(1, 0); return true;
      case BinaryOp::Le: truth ? fact(-1, 0) : fact(1, -1); return true;
      case BinaryOp::Gt: truth ? fact(1, -1) : fact(-1, 0); return true;
      case BinaryOp::Ge: truth ? fact(1, 0) : fact(-1, -1); return true;
      case BinaryOp::Eq:
      case BinaryOp::Ne:
        if ((op == BinaryOp::Eq) == truth) {
          fact(1, 0);
          fact(-1, 0);
        }
        return true;
      default: return false;
    }
  }

  /// True when `form >= 0` everywhere, given the facts.
  bool nonnegative(const Linear& form, const std::vector<Linear>& facts) const {
    if (minimum(form) >= 0) return true;
    for (const Linear& fact : facts) {
      Linear rest = form;
      rest.add(fact, -1);
      if (minimum(rest) >= 0) return true;
    }
    // c * floor(e / d) + t >= 0 with c of 1 or -1 says the same as a form without the division.
    for (auto term = form.terms.rbegin(); term != form.terms.rend(); ++term) {
      const auto [atom, coefficient] = *term;
      const auto quotient = quotients_.find(atom);
      if (quotient == quotients_.end() || (coefficient != 1 && coefficient != -1)) continue;
      const auto& [operand, divisor] = quotient->second;
      Linear rest;
      rest.add(form, divisor);
      rest.terms.erase(atom);
      rest.add(operand, coefficient);
      if (coefficient == -1) rest.constant += divisor - 1;
      return nonnegative(rest, facts);
    }
    return false;
  }

  Linear extent(const Extent& extent) {
    Linear form{extent.constant, {}};
    for (const auto& [name, coefficient] : extent.terms) form.add(parameter_atom(name), coefficient);
    return form;
  }

 private:
  /// Bounds of an atom as linear forms over atoms with smaller numbers; parameters have constant bounds.
  struct Atom {
    Linear low, high;
  };

  Linear add_atom(Linear low, Linear high) {
    atoms_.push_back({std::move(low), std::move(high)});
    return Linear{0, {{static_cast<int>(atoms_.size()) - 1, 1}}};
  }

  Linear axis_atom(const Axis& axis) {
    auto [entry, fresh] = axes_.try_emplace(axis.get());
    if (fresh) {
      Linear high = extent(axis.extent());
      high.constant -= 1;
      entry->second = add_atom({}, std::move(high));
    }
    return entry->second;
  }

  Linear parameter_atom(const std::string& name) {
    auto [entry, fresh] = parameter_atoms_.try_emplace(name);
    if (fresh) {
      const auto found =
          std::find_if(parameters_.begin(), parameters_.end(), [&](const Parameter& p) { return p.name == name; });
      if (found == parameters_.end()) return entry->second = add_atom({}, {});
      entry->second = add_atom(Linear{found->min, {}}, Linear{found->max, {}});
    }
    return entry->second;
  }

  Linear derived_atom(BinaryOp op, const Linear& a, const Linear& b) {
    auto key = std::make_tuple(op, a.constant, a.terms, b.constant, b.terms);
    auto [entry, fresh] = derived_.try_emplace(std::move(key));
    if (!fresh) return entry->second;
    Linear low, high;
    if (op == BinaryOp::Mod) {
      high.constant = b.constant - 1;
    } else if (op == BinaryOp::FloorDiv) {
      low.constant = floor_division(minimum(a), b.constant);
      high.constant = floor_division(maximum(a), b.constant);
    } else if (op == BinaryOp::Min) {
      low.constant = std::min(minimum(a), minimum(b));
      high = b.terms.size() <= a.terms.size() && maximum(b) <= maximum(a) ? b : a;
    } else {
      low = b.terms.size() <= a.terms.size() && minimum(b) >= minimum(a) ? b : a;
      high.constant = std::max(maximum(a), maximum(b));
    }
    entry->second = add_atom(std::move(low), std::move(high));
    if (op == BinaryOp::FloorDiv) quotients_.emplace(entry->second.terms.begin()->first, std::pair{a, b.constant});
    return entry->second;
  }

  static std::int64_t floor_division(std::int64_t a, std::int64_t b) {
    const std::int64_t q = a / b;
    return (a % b != 0 && a < 0) ? q - 1 : q;
  }

  /// Least value: atoms are replaced by their bounds, newest first, since bounds mention older atoms only.
  std::int64_t minimum(Linear form) const {
    while (!form.terms.empty()) {
      const auto [atom, coefficient] = *form.terms.rbegin();
      form.terms.erase(std::prev(form.terms.end()));
      const Atom& bounds = atoms_[static_cast<std::size_t>(atom)];
      form.add(coefficient > 0 ? bounds.low : bounds.high, coefficient);
    }
    return form.constant;
  }
  std::int64_t maximum(const Linear& form) const {
    Linear negated;
    negated.add(form, -1);
    return -minimum(std::move(negated));
  }

  const std::vector<Parameter>& parameters_;
  std::vector<Atom> atoms_;
  std::unordered_map<const AxisNode*, Linear> axes_;
  std::map<std::string, Linear> parameter_atoms_;
  std::map<int, std::pair<Linear, std::int64_t>> quotients_;  ///< operand and divisor of each floor-div atom
  std::map<std::tuple<BinaryOp, std::int64_t, std::map<int, std::int64_t>, std::int64_t, std::map<int, std::int64_t>>,
           Linear>
      derived_;
};

class StageVerifier {
 public:
  StageVerifier(const Compute& compute, const Stage& stage, const std::unordered_set<const Stage*>& earlier)
      : compute_(compute), stage_(stage), earlier_(earlier), prover_(compute.parameters) {}

  void run() {
    check_axes();
    check_strides();
    if (stage_.kind == StageKind::Placeholder) {
      check_placeholder();
      return;
    }
    check_arity();
    check_reducer();
    std::vector<Linear> facts;
    for (const Expr& condition : stage_.where) {
      check_scope(condition, true);
      if (condition.dtype() != DType::Bool) fail(stage_, "a 'where' condition is not bool", "write a comparison");
      if (!prover_.assume(condition, true, facts)) {
        fail(stage_, "a 'where' condition is not affine: " + print(condition),
             "use axes, integer literals, +, -, * by a literal, floor_div and mod by a positive literal, comparisons, "
             "&& and ||");
      }
    }
    for (const Expr& e : stage_.body) {
      check_scope(e, true);
      check_reads(e, facts);
    }
    for (const Expr& e : stage_.init) {
      check_scope(e, false);
      check_reads(e, {});
    }
  }

 private:
  void check_axes() {
    if (!is_identifier(stage_.name)) {
      fail(stage_, "'" + stage_.name + "' is not a usable name",
           "use letters, digits and _, not starting with a digit");
    }
    std::unordered_set<std::string_view> names;
    auto check = [&](const Axis& axis, bool reduce_axis) {
      if (axis.get() == nullptr) fail(stage_, "an axis is empty");
      if (!is_identifier(axis.name()) ||
          std::find(kReservedNames.begin(), kReservedNames.end(), axis.name()) != kReservedNames.end()) {
        fail(stage_, "'" + axis.name() + "' is not a usable axis name",
             "use letters, digits and _, not starting with a digit, not inf or nan");
      }
      if (!names.insert(axis.name()).second) fail(stage_, "two axes are named '" + axis.name() + "'");
      if (axis.is_reduce() != reduce_axis) {
        fail(stage_, "axis '" + axis.name() + "' is " + (axis.is_reduce() ? "a reduce" : "not a reduce") + " axis",
             reduce_axis ? "make it with reduce()" : "spatial axes come from the shape");
      }
      for (const auto& [parameter, coefficient] : axis.extent().terms) {
        const bool known = std::any_of(compute_.parameters.begin(), compute_.parameters.end(),
                                       [&](const Parameter& p) { return p.name == parameter; });
        if (!known) {
          fail(stage_, "the extent of axis '" + axis.name() + "' uses the unknown parameter '" + parameter + "'",
               "declare it in make_compute");
        }
      }
      if (!prover_.nonnegative(prover_.extent(axis.extent()), {})) {
        fail(stage_, "axis '" + axis.name() + "' has a negative extent");
      }
    };
    for (const Axis& axis : stage_.axes) check(axis, false);
    for (const Axis& axis : stage_.reduce_axes) check(axis, true);
  }

  void check_strides() {
    if (stage_.strides.empty()) return;
    const bool is_output = std::any_of(compute_.outputs.begin(), compute_.outputs.end(),
                                       [&](const StagePtr& output) { return output.get() == &stage_; });
    if (stage_.kind != StageKind::Placeholder && !is_output)
      fail(stage_, "only placeholders and outputs have strides", "others are stored as the schedule wants them");
    if (stage_.strides.size() != stage_.axes.size()) {
      fail(stage_,
           std::to_string(stage_.strides.size()) + " strides for " + std::to_string(stage_.axes.size()) + " axes");
    }
    std::int64_t inner = 1;  // elements that a step along the axis must clear
    for (std::size_t i = stage_.axes.size(); i-- > 0;) {
      const std::int64_t extent = std::max<std::int64_t>(stage_.axes[i].extent().value(), 1),
                         stride = stage_.strides[i];
      std::int64_t reach = 0;
      if (stride < inner || __builtin_mul_overflow(stride, extent - 1, &reach) ||
          __builtin_add_overflow(inner, reach, &inner)) {
        fail(stage_, "a stride of " + std::to_string(stride) + " along axis '" + stage_.axes[i].name() +
                         "' does not clear what lies inside of it, " + std::to_string(inner) + " elements");
      }
    }
  }

  void check_placeholder() {
    if (stage_.dtypes.size() != 1) fail(stage_, "a placeholder has exactly one component");
    if (!stage_.body.empty() || stage_.reducer || !stage_.init.empty() || !stage_.where.empty() ||
        !stage_.reduce_axes.empty()) {
      fail(stage_, "a placeholder cannot have a definition");
    }
  }

  void check_arity() {
    if (stage_.constant) fail(stage_, "only a placeholder can be marked constant");
    if (stage_.body.empty()) fail(stage_, "the definition is empty");
    if (stage_.dtypes.size() != stage_.body.size()) {
      fail(stage_,
           std::to_string(stage_.dtypes.size()) + " dtypes for " + std::to_string(stage_.body.size()) + " components");
    }
    for (std::size_t i = 0; i < stage_.body.size(); ++i) {
      if (!stage_.body[i]) fail(stage_, "component " + std::to_string(i) + " is an empty expression");
      if (stage_.body[i].dtype() != stage_.dtypes[i]) {
        fail(stage_, "component " + std::to_string(i) + " is declared " + std::string(to_string(stage_.dtypes[i])) +
                         " but its definition is " + std::string(to_string(stage_.body[i].dtype())));
      }
    }
    if (!stage_.reducer && (!stage_.reduce_axes.empty() || !stage_.init.empty() || !stage_.where.empty())) {
      fail(stage_, "reduce axes, init and where belong to a reduction", "use sum(), max_over() or reduction()");
    }
  }

  void check_reducer() {
    if (!stage_.reducer) return;
    const Reducer& reducer = *stage_.reducer;
    const auto arity = static_cast<std::size_t>(reducer.arity());
    if (!is_identifier(reducer.name)) fail(stage_, "'" + reducer.name + "' is not a usable reducer name");
    if (arity != stage_.body.size()) {
      fail(stage_, "reducer '" + reducer.name + "' has " + std::to_string(arity) + " components but the body has " +
                       std::to_string(stage_.body.size()));
    }
    if (reducer.identity.size() != arity)
      fail(stage_, "reducer '" + reducer.name + "' needs one identity per component");
    if (stage_.reduce_axes.empty()) fail(stage_, "a reduction needs at least one reduce axis");
    if (!stage_.init.empty() && stage_.init.size() != arity) {
      fail(stage_, std::to_string(stage_.init.size()) + " init values for " + std::to_string(arity) + " components");
    }
    for (std::size_t i = 0; i < arity; ++i) {
      const DType dtype = stage_.dtypes[i];
      const Expr& identity = reducer.identity[i];
      if (!identity || (identity->kind != ExprKind::Int && identity->kind != ExprKind::Float)) {
        fail(stage_, "the identity of reducer '" + reducer.name + "' is not a literal");
      }
      if (identity.dtype() != dtype || !reducer.combine[i] || reducer.combine[i].dtype() != dtype) {
        fail(stage_, "component " + std::to_string(i) + " of reducer '" + reducer.name + "' is not " +
                         std::string(to_string(dtype)) + " as the body is");
      }
      if (!stage_.init.empty() && (!stage_.init[i] || stage_.init[i].dtype() != dtype)) {
        fail(stage_, "the init value of component " + std::to_string(i) + " is not " + std::string(to_string(dtype)));
      }
      for_each_node(reducer.combine[i], [&](const Expr& e) {
        if (e->kind == ExprKind::Var || e->kind == ExprKind::Load) {
          fail(stage_, "the combine function of reducer '" + reducer.name + "' reads more than its arguments");
        }
        if (e->kind != ExprKind::Param) return;
        if (e->index < 0 || static_cast<std::size_t>(e->index) >= 2 * arity ||
            e.dtype() != stage_.dtypes[static_cast<std::size_t>(e->index) % arity]) {
          fail(stage_, "argument " + std::to_string(e->index) + " of reducer '" + reducer.name +
                           "' does not exist or has another type");
        }
      });
    }
  }

  void check_scope(const Expr& root, bool reduce_allowed) {
    for_each_node(root, [&](const Expr& e) {
      if (e->kind == ExprKind::Var) {
        const bool spatial = std::find(stage_.axes.begin(), stage_.axes.end(), e->axis) != stage_.axes.end();
        const bool reduced =
            std::find(stage_.reduce_axes.begin(), stage_.reduce_axes.end(), e->axis) != stage_.reduce_axes.end();
        if (reduced && !reduce_allowed) fail(stage_, "the init value uses the reduce axis '" + e->axis.name() + "'");
        if (!spatial && !reduced) {
          fail(stage_, "axis '" + e->axis.name() + "' is used but belongs to neither the shape nor the reduction",
               "list it among the reduce axes");
        }
      }
      if (e->kind == ExprKind::Param) fail(stage_, "a reducer argument is used outside a combine function");
      if (e->kind == ExprKind::Load && earlier_.count(e->stage.get()) == 0) {
        fail(stage_, "reads '" + e->stage->name + "', which is not an earlier stage of this compute");
      }
    });
  }

  /// Proves affine reads in bounds; the condition of a `select` holds in its branches.
  void check_reads(const Expr& e, const std::vector<Linear>& facts) {
    if (e->kind == ExprKind::Select) {
      check_reads(e->args[0], facts);
      for (int branch = 0; branch < 2; ++branch) {
        std::vector<Linear> known = facts;
        prover_.assume(e->args[0], branch == 0, known);
        check_reads(e->args[static_cast<std::size_t>(branch) + 1], known);
      }
      return;
    }
    for (const Expr& child : e->args) check_reads(child, facts);
    if (e->kind != ExprKind::Load) return;
    for (std::size_t i = 0; i < e->args.size(); ++i) {
      const auto index = prover_.linear(e->args[i]);
      if (!index) continue;
      Linear room = prover_.extent(e->stage->axes[i].extent());
      room.add(*index, -1);
      room.constant -= 1;
      if (prover_.nonnegative(*index, facts) && prover_.nonnegative(room, facts)) continue;
      fail(stage_,
           "reads '" + e->stage->name + "' outside its domain: index " + std::to_string(i) + " is " + print(e->args[i]),
           "restrict the reduction with where(in_range(...)) or mend the index");
    }
  }

  const Compute& compute_;
  const Stage& stage_;
  const std::unordered_set<const Stage*>& earlier_;
  Prover prover_;
};

void verify_parameters(const Compute& compute) {
  std::set<std::string_view> names;
  for (const Parameter& p : compute.parameters) {
    const std::string where = "parameter '" + p.name + "'";
    if (!is_identifier(p.name)) throw Error(ErrorCode::InvalidArgument, "'" + p.name + "' is not a usable name", where);
    if (!names.insert(p.name).second) throw Error(ErrorCode::InvalidArgument, "it is declared twice", where);
    if (p.min > p.max || p.divisor < 1) {
      throw Error(ErrorCode::InvalidArgument, "its range is empty or its divisor is not positive", where);
    }
  }
}

}  // namespace

void verify(const Compute& compute) {
  verify_parameters(compute);
  if (compute.outputs.empty()) throw Error(ErrorCode::InvalidArgument, "the compute has no output");
  std::unordered_set<const Stage*> earlier;
  std::unordered_set<std::string_view> names;
  for (const StagePtr& stage : compute.stages) {
    if (!stage) throw Error(ErrorCode::InvalidArgument, "a stage is empty");
    if (!names.insert(stage->name).second)
      fail(*stage, "two stages are named '" + stage->name + "'", "give each stage its own name");
    StageVerifier(compute, *stage, earlier).run();
    earlier.insert(stage.get());
  }
  for (const StagePtr& output : compute.outputs) {
    if (!output || earlier.count(output.get()) == 0)
      throw Error(ErrorCode::InvalidArgument, "an output is not a stage of the compute");
  }
}

}  // namespace temper::ir
