#include "temper/cost/program_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory_resource>
#include <optional>

#include "temper/ir/dtype.h"
#include "temper/support/error.h"

namespace temper::cost {
namespace {

using analysis::Affine;
using analysis::Var;
using analysis::VarKind;
using analysis::VarSpace;
using nest::StorageKind;
using schedule::Annotation;

int element_bytes(const ir::Stage& stage, std::size_t component = 0) { return ir::bytes(stage.dtypes[component]); }

void count_operations(const ir::Expr& expr, const schedule::Schedule& schedule, const std::vector<bool>& inlined,
                      OperationCounts& counts, int depth) {
  for (const ir::Expr& arg : expr->args) {
    // Index arithmetic is strength-reduced; only values cost vector instructions.
    if (expr->kind != ir::ExprKind::Load) count_operations(arg, schedule, inlined, counts, depth);
  }
  using ir::BinaryOp;
  using ir::UnaryOp;
  switch (expr->kind) {
    case ir::ExprKind::Binary: {
      const bool integer = expr->args[0].dtype() == ir::DType::I64;  // index conditions fold into masks
      if (integer) break;
      const auto is_product = [](const ir::Expr& e) {
        return e->kind == ir::ExprKind::Binary && e->binary == BinaryOp::Mul;
      };
      const bool sum = expr->binary == BinaryOp::Add || expr->binary == BinaryOp::Sub;
      if (sum && (is_product(expr->args[0]) || is_product(expr->args[1]))) {
        counts.fused += 1;
        counts.simple -= 1;  // the product that was counted below
      } else if (expr->binary == BinaryOp::Div) {
        counts.divide += 1;
      } else if (expr->binary == BinaryOp::Pow) {
        counts.special += 2;
      } else {
        counts.simple += 1;
      }
      break;
    }
    case ir::ExprKind::Unary:
      switch (expr->unary) {
        case UnaryOp::Sqrt:
        case UnaryOp::Rsqrt: counts.divide += 1; break;
        case UnaryOp::Exp:
        case UnaryOp::Log:
        case UnaryOp::Tanh:
        case UnaryOp::Erf:
        case UnaryOp::Sigmoid:
        case UnaryOp::Sin:
        case UnaryOp::Cos: counts.special += 1; break;
        default: counts.simple += 1;
      }
      break;
    case ir::ExprKind::Select:
    case ir::ExprKind::Cast: counts.simple += 1; break;
    case ir::ExprKind::Load:
      // An inlined producer is computed here.
      for (std::size_t s = 0; s < inlined.size(); ++s) {
        if (!inlined[s] || schedule.stages()[s].definition.get() != expr->stage.get()) continue;
        TEMPER_CHECK(depth < 64, "inlined stages form a cycle");
        count_operations(expr->stage->body[static_cast<std::size_t>(expr->index)], schedule, inlined, counts,
                         depth + 1);
      }
      break;
    default: break;
  }
}

class Walker {
 public:
  Walker(const nest::Program& program, const schedule::Schedule& schedule)
      : program_(program),
        schedule_(schedule),
        vars_(program.vars),
        axis_of_(vars_.size(), -1),
        slope_(vars_.size(), 0) {
    for (const nest::StageForms& forms : program.forms) {
      for (std::size_t axis = 0; axis < forms.axis_vars.size(); ++axis)
        axis_of_[static_cast<std::size_t>(forms.axis_vars[axis])] = static_cast<int>(axis);
    }
    value_.assign(vars_.size(), 0);
    for (std::size_t v = 0; v < vars_.size(); ++v) {
      if (vars_[static_cast<Var>(v)].kind == VarKind::Loop) value_[v] = vars_[static_cast<Var>(v)].range.lo;
    }
    operations_.resize(program.stages.size());
  }

  ProgramFacts run() {
    ProgramFacts facts;
    facts.bodies = program_.bodies;
    for (const nest::Storage& storage : program_.storages) {
      if (storage.kind == StorageKind::Workspace) facts.workspace_bytes += storage_bytes(storage);
    }
    for (const nest::Phase& phase : program_.phases) {
      phase_ = &facts.phases.emplace_back();
      phase_->prepare = phase.prepare;
      walk(phase.body);
    }
    return facts;
  }

 private:
  struct OpenLoop {
    LoopFacts facts;
    std::vector<Var> vars;  ///< that its counter drives: the loop variable, and names for it in a segment
    std::int64_t begin = 0;
  };

  double storage_bytes(const nest::Storage& storage) const {
    const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(storage.stage)];
    double bytes = 0;
    for (std::size_t c = 0; c < stage.dtypes.size(); ++c)
      bytes += static_cast<double>(storage.elements) * element_bytes(stage, c);
    return bytes;
  }

  void walk(const std::vector<nest::Node>& nodes) {
    const double vectors = live_vector_bytes_, scalars = live_scalars_;
    for (const nest::Node& node : nodes) std::visit([&](const auto& value) { visit(value); }, node.value);
    live_vector_bytes_ = vectors, live_scalars_ = scalars;
  }

  void visit(const nest::Loop& loop) {
    OpenLoop open;
    open.facts.kind = loop.kind;
    open.facts.reduce = loop.reduce;
    open.facts.trips = static_cast<double>(loop.end - loop.begin);
    // Dynamic bounds: halfway between the most they can take away and nothing.
    if (!loop.lower.empty() || !loop.upper.empty()) {
      double least = open.facts.trips, low = static_cast<double>(loop.begin), high = static_cast<double>(loop.end);
      for (const nest::Bound& bound : loop.lower) {
        low = std::max(low, static_cast<double>(analysis::ceil_div(vars_.range(bound.numerator).hi, bound.divisor)));
      }
      for (const nest::Bound& bound : loop.upper) {
        high = std::min(high,
                        static_cast<double>(analysis::floor_div(vars_.range(bound.numerator).lo, bound.divisor) + 1));
      }
      least = std::clamp(high - low, 0.0, least);
      open.facts.trips = (open.facts.trips + least) / 2;
    }
    open.facts.lanes = loop.lanes;
    open.vars = {loop.var};
    open.begin = loop.begin;
    value_[static_cast<std::size_t>(loop.var)] = loop.begin;
    loops_.push_back(std::move(open));
    walk(loop.body);
    loops_.pop_back();
  }

  void visit(const nest::FusedLoop& loop) {
    double trips = 1;
    for (const nest::FusedLoop::Component& component : loop.components) {
      OpenLoop open;
      open.facts.kind = loop.kind;
      open.facts.reduce = loop.reduce;
      open.facts.trips = static_cast<double>(component.extent);
      open.vars = {component.var};
      value_[static_cast<std::size_t>(component.var)] = 0;
      trips *= open.facts.trips;
      loops_.push_back(std::move(open));
    }
    if (loop.kind == Annotation::Parallel) phase_->parallel_trips = std::max(phase_->parallel_trips, trips);
    walk(loop.body);
    loops_.resize(loops_.size() - loop.components.size());
  }

  void visit(const nest::Branch& branch) {
    const auto open = std::find_if(loops_.begin(), loops_.end(), [&](const OpenLoop& loop) {
      return std::find(loop.vars.begin(), loop.vars.end(), branch.var) != loop.vars.end();
    });
    TEMPER_CHECK(open != loops_.end(), "a branch tests a variable of no loop around it");
    const std::size_t at = static_cast<std::size_t>(open - loops_.begin());
    for (const nest::Branch::Segment& segment : branch.segments) {
      const OpenLoop before = loops_[at];
      loops_[at].facts.trips = static_cast<double>(segment.end - segment.begin);
      loops_[at].begin = segment.begin;
      loops_[at].vars.push_back(segment.refined);
      for (const Var var : loops_[at].vars) value_[static_cast<std::size_t>(var)] = segment.begin;
      walk(segment.body);
      loops_[at] = before;
      for (const Var var : before.vars) value_[static_cast<std::size_t>(var)] = before.begin;
    }
  }

  void visit(const nest::Prefetch&) {}  // hides latency that no fact describes

  void visit(const nest::Allocate& allocate) {
    const nest::Storage& storage = program_.storages[static_cast<std::size_t>(allocate.storage)];
    if (storage.kind != StorageKind::Register) return;
    const schedule::StageSchedule& stage = schedule_[storage.stage];
    const bool vectorised = std::any_of(stage.iters.begin(), stage.iters.end(), [](const schedule::Iter& iter) {
      return iter.leaf && iter.annotation == Annotation::Vectorized;
    });
    if (vectorised && !storage.lane_partials) {
      live_vector_bytes_ += storage_bytes(storage);
    } else {
      live_scalars_ +=
          static_cast<double>(storage.elements * static_cast<std::int64_t>(stage.definition->dtypes.size()));
    }
  }

  void visit(const nest::Statement& statement) {
    StatementFacts facts;
    facts.kind = statement.kind;
    facts.stage = statement.stage;
    facts.loops.reserve(loops_.size());
    for (const OpenLoop& loop : loops_) facts.loops.push_back(loop.facts);
    const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(statement.stage)];
    facts.element_bytes = element_bytes(stage);
    facts.live_vector_bytes = live_vector_bytes_;
    facts.live_scalars = live_scalars_;
    const bool computes =
        statement.kind == nest::Statement::Kind::Update || statement.kind == nest::Statement::Kind::Define;
    if (computes) {
      facts.operations = operations(statement.stage);
      // The values of the stage's axes, for its read forms.
      const nest::StageForms& forms = program_.forms[static_cast<std::size_t>(statement.stage)];
      for (const nest::ReadForm& read : forms.reads) {
        const auto storage = std::find_if(statement.reads.begin(), statement.reads.end(),
                                          [&](const std::pair<int, int>& pair) { return pair.first == read.producer; });
        if (storage == statement.reads.end()) continue;
        index_.clear();
        for (const std::optional<Affine>& form : read.index) index_.push_back(form ? &*form : nullptr);
        facts.accesses.push_back(access(storage->second, statement, forms.axis_vars, false));
      }
    }
    index_.clear();
    for (std::size_t axis = 0; axis < stage.axes.size(); ++axis) index_.push_back(&statement.axes[axis]);
    facts.accesses.push_back(access(statement.storage, statement, {}, true));
    if (statement.kind == nest::Statement::Kind::Update) {
      facts.accesses.push_back(facts.accesses.back());
      facts.accesses.back().write = false;
    }
    phase_->statements.push_back(std::move(facts));
  }

  const OperationCounts& operations(int stage) {
    std::optional<OperationCounts>& known = operations_[static_cast<std::size_t>(stage)];
    if (known) return *known;
    known.emplace();
    const ir::Stage& definition = *program_.stages[static_cast<std::size_t>(stage)];
    for (const ir::Expr& body : definition.body) count_operations(body, schedule_, program_.inlined, *known, 0);
    if (definition.reducer) {
      for (std::size_t c = 0; c < definition.reducer->combine.size(); ++c) {
        const ir::Expr& combine = definition.reducer->combine[c];
        const ir::Expr& term = definition.body[c];
        const bool product = term->kind == ir::ExprKind::Binary && term->binary == ir::BinaryOp::Mul;
        if (product && combine->kind == ir::ExprKind::Binary && combine->binary == ir::BinaryOp::Add) {
          known->fused += 1;
          known->simple -= 1;
        } else {
          count_operations(combine, schedule_, program_.inlined, *known, 0);
        }
      }
    }
    return *known;
  }

  std::int64_t evaluate(const Affine& form) const {
    std::int64_t result = form.constant;
    for (const analysis::Term& term : form.terms) result += term.coefficient * evaluate(term.var);
    return result;
  }
  std::int64_t evaluate(Var var) const {
    const analysis::VarInfo& info = vars_[var];
    switch (info.kind) {
      case VarKind::FloorDiv: return analysis::floor_div(evaluate(info.operand), info.divisor);
      case VarKind::Mod: return analysis::floor_mod(evaluate(info.operand), info.divisor);
      case VarKind::Loop: break;
    }
    return value_[static_cast<std::size_t>(var)];
  }

  /// Position of `index_` in the storage, in elements, with the loops at `value_`.
  std::int64_t address(const nest::Storage& storage, const nest::Statement& statement, std::span<const Var> axis_vars) {
    for (std::size_t i = 0; i < axis_vars.size(); ++i) {
      value_[static_cast<std::size_t>(axis_vars[i])] = evaluate(statement.axes[i]);
    }
    std::int64_t result = 0;
    for (const nest::StorageDim& dim : storage.dims) {
      const std::size_t axis = static_cast<std::size_t>(dim.axis);
      if (axis >= index_.size() || index_[axis] == nullptr) continue;
      std::int64_t at = evaluate(*index_[axis]) - evaluate(storage.base[axis]);
      at = analysis::floor_div(at, dim.divisor);
      if (dim.modulus != 0) at = analysis::floor_mod(at, dim.modulus);
      result += at * dim.stride;
    }
    return result;
  }

  bool of_loops(const Affine& form) const {
    return std::ranges::all_of(form.terms,
                               [&](const analysis::Term& term) { return vars_[term.var].kind == VarKind::Loop; });
  }

  /// Whether each loop moves the address of `index_` by the same step all the way, but for the storage's base.
  bool is_linear(const nest::Storage& storage, const nest::Statement& statement) const {
    return std::ranges::all_of(storage.dims,
                               [](const nest::StorageDim& dim) { return dim.divisor == 1 && dim.modulus == 0; }) &&
           std::ranges::all_of(index_, [&](const Affine* form) { return form == nullptr || of_loops(*form); }) &&
           std::ranges::all_of(statement.axes, [&](const Affine& form) { return of_loops(form); });
  }

  /// Adds `scale` times the form to the slopes of the loop variables, through the axes of `statement`.
  void add_slopes(const Affine& form, std::int64_t scale, const nest::Statement* statement) {
    for (const analysis::Term& term : form.terms) {
      const auto var = static_cast<std::size_t>(term.var);
      if (statement != nullptr && axis_of_[var] >= 0) {
        add_slopes(statement->axes[static_cast<std::size_t>(axis_of_[var])], scale * term.coefficient, nullptr);
      } else {
        slope_[var] += scale * term.coefficient;
        sloping_.push_back(term.var);
      }
    }
  }

  /// The steps of loops that all move a linear address by the same.
  void linear_strides(const nest::Storage& storage, const nest::Statement& statement, std::vector<double>& strides) {
    for (const nest::StorageDim& dim : storage.dims) {
      const std::size_t axis = static_cast<std::size_t>(dim.axis);
      if (axis >= index_.size() || index_[axis] == nullptr) continue;
      add_slopes(*index_[axis], dim.stride, &statement);
      add_slopes(storage.base[axis], -dim.stride, nullptr);
    }
    for (const OpenLoop& loop : loops_) {
      std::int64_t step = 0;
      if (loop.facts.trips > 1 || loop.facts.kind == Annotation::Vectorized) {
        for (const Var var : loop.vars) step += slope_[static_cast<std::size_t>(var)];
      }
      strides.push_back(static_cast<double>(step));
    }
    for (const Var var : sloping_) slope_[static_cast<std::size_t>(var)] = 0;
    sloping_.clear();
  }

  /// Of `index_`, whose forms are over `axis_vars` and loops.
  AccessFacts access(int storage_index, const nest::Statement& statement, std::span<const Var> axis_vars, bool write) {
    const nest::Storage& storage = program_.storages[static_cast<std::size_t>(storage_index)];
    AccessFacts facts;
    facts.storage = storage_index;
    facts.kind = storage.kind;
    facts.write = write;
    facts.element_bytes = element_bytes(*program_.stages[static_cast<std::size_t>(storage.stage)]);
    facts.storage_bytes = storage_bytes(storage);
    facts.known = std::ranges::none_of(index_, [](const Affine* form) { return form == nullptr; });
    const bool linear = is_linear(storage, statement);
    facts.strides.reserve(loops_.size());
    if (linear && std::ranges::all_of(storage.base, [&](const Affine& form) { return of_loops(form); })) {
      linear_strides(storage, statement, facts.strides);
      return facts;
    }
    const std::int64_t origin = address(storage, statement, axis_vars);
    for (const OpenLoop& loop : loops_) {
      const bool vector = loop.facts.kind == Annotation::Vectorized;
      if (loop.facts.trips <= 1 && !vector) {
        facts.strides.push_back(0);
        continue;
      }
      const auto move_to = [&](std::int64_t step) {
        for (const Var var : loop.vars) value_[static_cast<std::size_t>(var)] = loop.begin + step;
      };
      // The mean step over the whole loop, so that layouts in which a step is now small, now large come out right; but
      // a first step to the next element stays one, since that is what a vector load sees.
      const std::int64_t last = std::max<std::int64_t>(1, std::llround(loop.facts.trips) - 1);
      move_to(1);
      const double first_step = static_cast<double>(address(storage, statement, axis_vars) - origin);
      double mean_step = first_step;
      if (!linear && !vector && last > 1) {
        move_to(last);
        mean_step = static_cast<double>(address(storage, statement, axis_vars) - origin) / static_cast<double>(last);
      }
      move_to(0);
      facts.strides.push_back(mean_step != 0 ? mean_step : first_step);
    }
    return facts;
  }

  const nest::Program& program_;
  const schedule::Schedule& schedule_;
  const VarSpace& vars_;
  std::vector<int> axis_of_;          ///< of each variable that stands for an axis of a stage, else -1
  std::vector<std::int64_t> slope_;   ///< scratch: elements that one step of each variable moves an address; else 0
  std::vector<Var> sloping_;          ///< scratch: where `slope_` is not 0
  std::vector<const Affine*> index_;  ///< of the access that is looked at; null where the index is not affine
  std::vector<std::optional<OperationCounts>> operations_;
  std::vector<std::int64_t> value_;  ///< of each loop variable, where addresses are evaluated
  std::vector<OpenLoop> loops_;
  double live_vector_bytes_ = 0, live_scalars_ = 0;
  PhaseFacts* phase_ = nullptr;
};

}  // namespace

double StatementFacts::executions() const { return trips(0, loops.size()); }

double StatementFacts::trips(std::size_t first, std::size_t last) const {
  double product = 1;
  for (std::size_t i = first; i < last; ++i) product *= loops[i].trips;
  return product;
}

ProgramFacts program_facts(const nest::Program& program, const schedule::Schedule& schedule) {
  return Walker(program, schedule).run();
}

double footprint(const AccessFacts& access, std::span<const LoopFacts> loops, std::size_t first, double line_bytes) {
  // Asked for each loop of each statement of a program: no allocations for loops that are not very many.
  std::array<std::byte, 2048> buffer;
  std::pmr::monotonic_buffer_resource memory(buffer.data(), buffer.size());
  std::pmr::vector<std::pair<double, double>> moves(&memory), merged(&memory);  // (bytes a step, trips)
  moves.reserve(loops.size() - first);
  for (std::size_t i = first; i < loops.size(); ++i) {
    const double step = std::abs(access.strides[i]) * access.element_bytes;
    if (step > 0 && loops[i].trips > 1) moves.emplace_back(step, loops[i].trips);
  }
  std::sort(moves.begin(), moves.end());
  // Loops that walk the same ground (rows of an image and of the window on them) are one loop over their union.
  merged.reserve(moves.size());
  for (const auto& [step, trips] : moves) {
    if (!merged.empty()) {
      auto& [last_step, last_trips] = merged.back();
      // The quotient first: remainders are slow.
      const double steps = step / last_step;
      if (step <= last_step * last_trips && steps == std::floor(steps) && std::fmod(step, last_step) == 0) {
        last_trips += steps * (trips - 1);
        continue;
      }
    }
    merged.emplace_back(step, trips);
  }
  // Runs of consecutive bytes: a step that reaches no further than the run (or its cache line) lengthens it, a larger
  // one makes more runs.
  double run = access.element_bytes, runs = 1;
  for (const auto& [step, trips] : merged) {
    if (runs == 1 && step <= std::max(run, line_bytes)) {
      run += step * (trips - 1);
    } else {
      runs *= trips;
    }
  }
  const double bytes = runs * std::ceil(run / line_bytes) * line_bytes;
  return std::min(bytes, std::max(access.storage_bytes, line_bytes));
}

const Footprints::Touched& Footprints::inside(std::size_t first) {
  std::optional<Touched>& known = known_[first];
  if (known) return *known;
  known.emplace();
  for (const AccessFacts& access : statement_.accesses) {
    if (access.kind == StorageKind::Register) continue;
    const double own = footprint(access, statement_.loops, first, line_bytes_);
    known->bytes += own;
    known->largest = std::max(known->largest, own);
  }
  return *known;
}

}  // namespace temper::cost
