#include "temper/nest/interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "temper/ir/strides.h"
#include "temper/support/error.h"

namespace temper::nest {

namespace {

/// One scalar; which member counts follows from the dtype.
struct Scalar {
  double real = 0;
  std::int64_t integer = 0;
};
Scalar of_real(double v) { return {v, 0}; }
Scalar of_integer(std::int64_t v) { return {0, v}; }

std::int64_t wrapped(std::int64_t v, ir::DType dtype) {
  switch (dtype) {
    case ir::DType::I8: return static_cast<std::int8_t>(v);
    case ir::DType::U8: return static_cast<std::uint8_t>(v);
    case ir::DType::I32: return static_cast<std::int32_t>(v);
    case ir::DType::Bool: return v != 0 ? 1 : 0;
    default: return v;
  }
}

Scalar read_memory(const std::byte* data, ir::DType dtype, std::size_t at) {
  const auto read = [&](auto value) {
    std::memcpy(&value, data + at * sizeof(value), sizeof(value));
    return value;
  };
  switch (dtype) {
    case ir::DType::F32: return of_real(read(0.0F));
    case ir::DType::F64: return of_real(read(0.0));
    case ir::DType::I8: return of_integer(read(std::int8_t{0}));
    case ir::DType::U8:
    case ir::DType::Bool: return of_integer(read(std::uint8_t{0}));
    case ir::DType::I32: return of_integer(read(std::int32_t{0}));
    case ir::DType::I64: return of_integer(read(std::int64_t{0}));
  }
  return {};
}

double unary_real(ir::UnaryOp op, double a) {
  switch (op) {
    case ir::UnaryOp::Neg: return -a;
    case ir::UnaryOp::Abs: return std::abs(a);
    case ir::UnaryOp::Exp: return std::exp(a);
    case ir::UnaryOp::Log: return std::log(a);
    case ir::UnaryOp::Sqrt: return std::sqrt(a);
    case ir::UnaryOp::Rsqrt: return 1 / std::sqrt(a);
    case ir::UnaryOp::Tanh: return std::tanh(a);
    case ir::UnaryOp::Erf: return std::erf(a);
    case ir::UnaryOp::Sigmoid: return 1 / (1 + std::exp(-a));
    case ir::UnaryOp::Sin: return std::sin(a);
    case ir::UnaryOp::Cos: return std::cos(a);
    case ir::UnaryOp::Floor: return std::floor(a);
    case ir::UnaryOp::Ceil: return std::ceil(a);
    case ir::UnaryOp::Round: return std::nearbyint(a);
    case ir::UnaryOp::Sign: return std::isnan(a) ? a : a > 0 ? 1 : a < 0 ? -1 : a;
    case ir::UnaryOp::Not: break;
  }
  TEMPER_CHECK(false, "no such operation on floating values");
}

std::int64_t unary_integer(ir::UnaryOp op, std::int64_t a) {
  switch (op) {
    case ir::UnaryOp::Neg: return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
    case ir::UnaryOp::Abs: return a < 0 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : a;
    case ir::UnaryOp::Not: return a == 0 ? 1 : 0;
    case ir::UnaryOp::Sign: return a > 0 ? 1 : a < 0 ? -1 : 0;
    default: break;
  }
  TEMPER_CHECK(false, "no such operation on integers");
}

/// A comparison or arithmetic; comparisons give integers.
Scalar binary_real(ir::BinaryOp op, double a, double b) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  switch (op) {
    case ir::BinaryOp::Add: return of_real(a + b);
    case ir::BinaryOp::Sub: return of_real(a - b);
    case ir::BinaryOp::Mul: return of_real(a * b);
    case ir::BinaryOp::Div: return of_real(a / b);
    case ir::BinaryOp::FloorDiv: return of_real(std::floor(a / b));
    case ir::BinaryOp::Mod: return of_real(a - b * std::floor(a / b));
    case ir::BinaryOp::Min: return of_real(std::isnan(a) || std::isnan(b) ? nan : std::min(a, b));
    case ir::BinaryOp::Max: return of_real(std::isnan(a) || std::isnan(b) ? nan : std::max(a, b));
    case ir::BinaryOp::Pow: return of_real(std::pow(a, b));
    case ir::BinaryOp::Lt: return of_integer(a < b ? 1 : 0);
    case ir::BinaryOp::Le: return of_integer(a <= b ? 1 : 0);
    case ir::BinaryOp::Gt: return of_integer(a > b ? 1 : 0);
    case ir::BinaryOp::Ge: return of_integer(a >= b ? 1 : 0);
    case ir::BinaryOp::Eq: return of_integer(a == b ? 1 : 0);
    case ir::BinaryOp::Ne: return of_integer(a != b ? 1 : 0);
    case ir::BinaryOp::And:
    case ir::BinaryOp::Or: break;
  }
  TEMPER_CHECK(false, "no such operation on floating values");
}

std::int64_t binary_integer(ir::BinaryOp op, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (op) {
    case ir::BinaryOp::Add: return static_cast<std::int64_t>(ua + ub);
    case ir::BinaryOp::Sub: return static_cast<std::int64_t>(ua - ub);
    case ir::BinaryOp::Mul: return static_cast<std::int64_t>(ua * ub);
    case ir::BinaryOp::Div: return b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min()) ? a : a / b;
    case ir::BinaryOp::FloorDiv: return b > 0 ? analysis::floor_div(a, b) : b < 0 ? analysis::floor_div(-a, -b) : 0;
    case ir::BinaryOp::Mod: return b > 0 ? analysis::floor_mod(a, b) : b < 0 ? -analysis::floor_mod(-a, -b) : 0;
    case ir::BinaryOp::Min: return std::min(a, b);
    case ir::BinaryOp::Max: return std::max(a, b);
    case ir::BinaryOp::Lt: return a < b ? 1 : 0;
    case ir::BinaryOp::Le: return a <= b ? 1 : 0;
    case ir::BinaryOp::Gt: return a > b ? 1 : 0;
    case ir::BinaryOp::Ge: return a >= b ? 1 : 0;
    case ir::BinaryOp::Eq: return a == b ? 1 : 0;
    case ir::BinaryOp::Ne: return a != b ? 1 : 0;
    case ir::BinaryOp::And: return a != 0 && b != 0 ? 1 : 0;
    case ir::BinaryOp::Or: return a != 0 || b != 0 ? 1 : 0;
    case ir::BinaryOp::Pow: break;
  }
  TEMPER_CHECK(false, "no such operation on integers");
}

class Interpreter {
 public:
  Interpreter(const Program& program, const ir::Inputs& inputs)
      : program_(program), inputs_(inputs), values_(program.vars.size(), 0), memory_(program.storages.size()) {}

  Interpretation run() {
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      const StorageKind kind = program_.storages[i].kind;
      if (kind != StorageKind::Local && kind != StorageKind::Register) allocate(static_cast<int>(i));
    }
    for (const bool prepare : {true, false}) {
      for (const Phase& phase : program_.phases) {
        if (phase.prepare == prepare) block(phase.body);
      }
    }
    Interpretation out;
    for (int stage : program_.outputs) out.outputs.push_back(output(stage));
    return out;
  }

 private:
  struct Memory {
    std::vector<std::int64_t> base;
    std::vector<std::vector<Scalar>> elements;  ///< [component][element]
    std::vector<std::vector<char>> written;
  };
  using Bindings = std::vector<std::pair<const ir::AxisNode*, std::int64_t>>;

  const ir::Stage& stage_of(int storage) const {
    return *program_.stages[static_cast<std::size_t>(program_.storages[static_cast<std::size_t>(storage)].stage)];
  }
  [[noreturn]] void fail(const ir::Stage& stage, const std::string& what) const {
    throw Error(ErrorCode::Internal, what, "stage " + stage.name);
  }

  std::vector<std::vector<double>> output(int stage) {
    const auto storage = std::find_if(program_.storages.begin(), program_.storages.end(), [&](const Storage& s) {
      return s.stage == stage && s.kind == StorageKind::Output;
    });
    TEMPER_CHECK(storage != program_.storages.end(), "an output has no storage");
    const Memory& memory = memory_[static_cast<std::size_t>(storage - program_.storages.begin())];
    const ir::Stage& definition = *program_.stages[static_cast<std::size_t>(stage)];
    const std::vector<std::size_t> places = ir::element_places(definition.shape(), definition.memory_strides());
    std::vector<std::vector<double>> out;
    for (std::size_t c = 0; c < definition.dtypes.size(); ++c) {
      std::vector<double> component;
      for (const std::size_t place : places) {
        if (memory.written[c][place] == 0)
          fail(definition, "output element " + std::to_string(component.size()) + " is never written");
        const Scalar& v = memory.elements[c][place];
        component.push_back(ir::is_float(definition.dtypes[c]) ? v.real : static_cast<double>(v.integer));
      }
      out.push_back(std::move(component));
    }
    return out;
  }

  void allocate(int index) {
    const Storage& storage = program_.storages[static_cast<std::size_t>(index)];
    Memory& memory = memory_[static_cast<std::size_t>(index)];
    const ir::Stage& stage = stage_of(index);
    memory.base.clear();
    for (const Affine& base : storage.base) memory.base.push_back(value(base));
    memory.elements.assign(stage.dtypes.size(), std::vector<Scalar>(static_cast<std::size_t>(storage.elements)));
    memory.written.assign(stage.dtypes.size(), std::vector<char>(static_cast<std::size_t>(storage.elements), 0));
    if (stage.kind != ir::StageKind::Placeholder) return;
    const auto data = inputs_.find(stage.name);
    TEMPER_CHECK(data != inputs_.end(), "no data for input " + stage.name);
    for (std::size_t i = 0; i < memory.elements[0].size(); ++i) {
      memory.elements[0][i] = read_memory(data->second.data(), stage.dtypes[0], i);
      memory.written[0][i] = 1;
    }
  }

  std::int64_t value(Var var) const {
    const analysis::VarInfo& info = program_.vars[var];
    switch (info.kind) {
      case analysis::VarKind::Loop: return values_[static_cast<std::size_t>(var)];
      case analysis::VarKind::FloorDiv: return analysis::floor_div(value(info.operand), info.divisor);
      case analysis::VarKind::Mod: return analysis::floor_mod(value(info.operand), info.divisor);
    }
    return 0;
  }
  std::int64_t value(const Affine& form) const {
    std::int64_t sum = form.constant;
    for (const analysis::Term& term : form.terms) sum += term.coefficient * value(term.var);
    return sum;
  }

  void block(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      std::visit([&](const auto& inner) { execute(inner); }, node.value);
    }
  }
  void execute(const Loop& loop) {
    std::int64_t begin = loop.begin, end = loop.end;
    for (const Bound& b : loop.lower) begin = std::max(begin, analysis::ceil_div(value(b.numerator), b.divisor));
    for (const Bound& b : loop.upper) end = std::min(end, analysis::floor_div(value(b.numerator), b.divisor) + 1);
    for (std::int64_t i = begin; i < end; ++i) {
      values_[static_cast<std::size_t>(loop.var)] = i;
      block(loop.body);
    }
  }
  void execute(const FusedLoop& loop) {
    std::int64_t extent = 1;
    for (const auto& component : loop.components) extent *= component.extent;
    for (std::int64_t i = 0; i < extent; ++i) {
      std::int64_t rest = i;
      for (auto c = loop.components.rbegin(); c != loop.components.rend(); ++c) {
        values_[static_cast<std::size_t>(c->var)] = rest % c->extent;
        rest /= c->extent;
      }
      block(loop.body);
    }
  }
  void execute(const Branch& branch) {
    const std::int64_t at = values_[static_cast<std::size_t>(branch.var)];
    for (const Branch::Segment& segment : branch.segments) {
      if (at < segment.begin || at >= segment.end) continue;
      values_[static_cast<std::size_t>(segment.refined)] = at;
      return block(segment.body);
    }
  }
  void execute(const Allocate& node) { allocate(node.storage); }
  void execute(const Prefetch&) {}  // touches nothing

  void execute(const Statement& s) {
    for (const Condition& condition : s.conditions) {
      const std::int64_t v = value(condition.form);
      if (condition.equality ? v != 0 : v < 0) return;
    }
    const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(s.stage)];
    statement_ = &s;
    Bindings axes;
    for (std::size_t i = 0; i < s.axes.size(); ++i) {
      const ir::Axis& axis = i < stage.axes.size() ? stage.axes[i] : stage.reduce_axes[i - stage.axes.size()];
      axes.emplace_back(axis.get(), value(s.axes[i]));
    }
    if (s.kind == Statement::Kind::Update || s.kind == Statement::Kind::Define) {
      for (int opaque : s.opaque) {
        if (evaluate(stage.where[static_cast<std::size_t>(opaque)], axes, {}).integer == 0) return;
      }
    }
    std::vector<std::int64_t> index;
    for (std::size_t i = 0; i < stage.axes.size(); ++i) index.push_back(axes[i].second);
    const bool partials = program_.storages[static_cast<std::size_t>(s.storage)].lane_partials > 0;
    std::vector<Scalar> results;
    const auto all = [&](const std::vector<ir::Expr>& list, const std::vector<Scalar>& params) {
      std::vector<Scalar> out;
      for (const ir::Expr& expr : list) out.push_back(evaluate(expr, axes, params));
      return out;
    };
    const auto stored = [&] {
      std::vector<Scalar> out;
      for (std::size_t c = 0; c < stage.dtypes.size(); ++c) out.push_back(load(s.storage, static_cast<int>(c), index));
      return out;
    };
    const auto combined = [&](std::vector<Scalar> left, const std::vector<Scalar>& right) {
      left.insert(left.end(), right.begin(), right.end());
      return all(stage.reducer->combine, left);
    };
    switch (s.kind) {
      case Statement::Kind::Define: results = all(stage.body, {}); break;
      case Statement::Kind::Init:
        results = all(stage.init.empty() || partials ? stage.reducer->identity : stage.init, {});
        break;
      case Statement::Kind::Update: {
        const std::vector<Scalar> terms = all(stage.body, {});
        results = combined(stored(), terms);
        break;
      }
      case Statement::Kind::Finish:
        if (stage.init.empty()) return;
        results = combined(all(stage.init, {}), stored());
        break;
    }
    for (std::size_t c = 0; c < results.size(); ++c) {
      const std::size_t at = offset(s.storage, index, stage);
      Memory& memory = memory_[static_cast<std::size_t>(s.storage)];
      memory.elements[c][at] = results[c];
      memory.written[c][at] = 1;
    }
  }

  std::size_t offset(int index, const std::vector<std::int64_t>& at, const ir::Stage& reader) const {
    const Storage& storage = program_.storages[static_cast<std::size_t>(index)];
    const Memory& memory = memory_[static_cast<std::size_t>(index)];
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const std::int64_t local = at[d] - memory.base[d];
      if (local < 0 || local >= storage.extents[d]) {
        fail(reader, "index " + std::to_string(at[d]) + " of axis " + std::to_string(d) + " leaves the storage of '" +
                         stage_of(index).name + "', which holds [" + std::to_string(memory.base[d]) + ", " +
                         std::to_string(memory.base[d] + storage.extents[d]) + ")");
      }
    }
    for (const StorageDim& dim : storage.dims) {
      const auto axis = static_cast<std::size_t>(dim.axis);
      std::int64_t part = (at[axis] - memory.base[axis]) / dim.divisor;
      if (dim.modulus != 0) part %= dim.modulus;
      sum += part * dim.stride;
    }
    if (sum < 0 || sum >= storage.elements)
      fail(reader, "element " + std::to_string(sum) + " leaves the storage of '" + stage_of(index).name + "'");
    return static_cast<std::size_t>(sum);
  }

  /// Whether the element lies past the stage's domain, in storage that is larger.
  bool in_padding(int storage, const std::vector<std::int64_t>& index) const {
    const ir::Stage& stage = stage_of(storage);
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] < 0 || index[i] >= stage.axes[i].extent().value()) return true;
    }
    return false;
  }

  Scalar load(int storage, int component, const std::vector<std::int64_t>& index) const {
    const ir::Stage& reader = *program_.stages[static_cast<std::size_t>(statement_->stage)];
    const Memory& memory = memory_[static_cast<std::size_t>(storage)];
    TEMPER_CHECK(!memory.elements.empty(), "a storage is used before it is allocated");
    const std::size_t at = offset(storage, index, reader);
    const auto c = static_cast<std::size_t>(component);
    if (memory.written[c][at] == 0 && in_padding(storage, index)) {
      // Nothing that counts may depend on padding: a value that spoils what it meets.
      return {std::numeric_limits<double>::quiet_NaN(), std::int64_t{0x5a5a5a5a}};
    }
    if (memory.written[c][at] == 0) {
      std::string text;
      for (std::int64_t i : index) text += (text.empty() ? "" : ", ") + std::to_string(i);
      fail(reader, "reads '" + stage_of(storage).name + "[" + text + "]', which nothing has written");
    }
    return memory.elements[c][at];
  }

  Scalar evaluate(const ir::Expr& expr, const Bindings& axes, const std::vector<Scalar>& params) {
    const ir::ExprNode& node = *expr;
    const auto argument = [&](std::size_t i) { return evaluate(node.args[i], axes, params); };
    switch (node.kind) {
      case ir::ExprKind::Int: return of_integer(node.int_value);
      case ir::ExprKind::Float: return of_real(node.float_value);
      case ir::ExprKind::Var: {
        const auto found =
            std::find_if(axes.rbegin(), axes.rend(), [&](const auto& b) { return b.first == node.axis.get(); });
        TEMPER_CHECK(found != axes.rend(), "an axis has no value: " + node.axis.name());
        return of_integer(found->second);
      }
      case ir::ExprKind::Param: return params[static_cast<std::size_t>(node.index)];
      case ir::ExprKind::Unary: {
        const Scalar a = argument(0);
        return ir::is_float(node.args[0].dtype())
                   ? of_real(unary_real(node.unary, a.real))
                   : of_integer(wrapped(unary_integer(node.unary, a.integer), node.dtype));
      }
      case ir::ExprKind::Binary: {
        const Scalar a = argument(0);
        if (node.binary == ir::BinaryOp::And && a.integer == 0) return of_integer(0);
        if (node.binary == ir::BinaryOp::Or && a.integer != 0) return of_integer(1);
        const Scalar b = argument(1);
        if (ir::is_float(node.args[0].dtype())) return binary_real(node.binary, a.real, b.real);
        return of_integer(wrapped(binary_integer(node.binary, a.integer, b.integer), node.dtype));
      }
      case ir::ExprKind::Select: return argument(argument(0).integer != 0 ? 1 : 2);
      case ir::ExprKind::Cast: {
        const Scalar a = argument(0);
        if (ir::is_float(node.args[0].dtype())) {
          if (ir::is_float(node.dtype))
            return of_real(node.dtype == ir::DType::F32 ? static_cast<float>(a.real) : a.real);
          if (node.dtype == ir::DType::Bool) return of_integer(a.real != 0 ? 1 : 0);
          return of_integer(wrapped(static_cast<std::int64_t>(a.real), node.dtype));
        }
        return ir::is_float(node.dtype) ? of_real(static_cast<double>(a.integer))
                                        : of_integer(wrapped(a.integer, node.dtype));
      }
      case ir::ExprKind::Load: {
        std::vector<std::int64_t> index;
        for (std::size_t i = 0; i < node.args.size(); ++i) index.push_back(argument(i).integer);
        return read(node, std::move(index));
      }
    }
    return {};
  }

  Scalar read(const ir::ExprNode& node, std::vector<std::int64_t> index) {
    const auto found = std::find(program_.stages.begin(), program_.stages.end(), node.stage);
    TEMPER_CHECK(found != program_.stages.end(), "a stage reads a stage that is not in the program");
    const int stage = static_cast<int>(found - program_.stages.begin());
    if (program_.inlined[static_cast<std::size_t>(stage)]) {
      Bindings inner;
      for (std::size_t i = 0; i < index.size(); ++i) inner.emplace_back(node.stage->axes[i].get(), index[i]);
      return evaluate(node.stage->body[static_cast<std::size_t>(node.index)], inner, {});
    }
    for (const auto& [producer, storage] : statement_->reads) {
      if (producer == stage) return load(storage, node.index, index);
    }
    TEMPER_CHECK(false, "a statement reads a stage without storage: " + node.stage->name);
  }

  const Program& program_;
  const ir::Inputs& inputs_;
  std::vector<std::int64_t> values_;
  std::vector<Memory> memory_;
  const Statement* statement_ = nullptr;
};

}  // namespace

Interpretation interpret(const Program& program, const ir::Inputs& inputs) {
  return Interpreter(program, inputs).run();
}

}  // namespace temper::nest
