#include "temper/ir/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>
#include <unordered_map>

#include "temper/support/error.h"

namespace temper::ir {
namespace {

/// A stage with more elements than this is memoised in a hash table instead of an array.
constexpr std::int64_t kLargestDenseMemo = std::int64_t{1} << 22;

/// A value in flight: `integer` is exact for integer types (and 0 or 1 for Bool); `value` and `magnitude` are f64.
struct Value {
  double value = 0;
  double magnitude = 0;
  std::int64_t integer = 0;
};

Value from_integer(std::int64_t integer) {
  const auto value = static_cast<double>(integer);
  return {value, std::abs(value), integer};
}
Value from_float(double value, double magnitude) { return {value, magnitude, 0}; }

/// Two's complement wrap-around to the width of `dtype`.
std::int64_t wrap(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::I8: return static_cast<std::int8_t>(value);
    case DType::U8: return static_cast<std::uint8_t>(value);
    case DType::I32: return static_cast<std::int32_t>(value);
    case DType::Bool: return value != 0 ? 1 : 0;
    default: return value;
  }
}

std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

[[noreturn]] void divided_by_zero() {
  throw Error(ErrorCode::InvalidArgument, "an integer was divided by zero while evaluating a definition");
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::uint64_t result = 1, factor = bits(base);
  for (; exponent > 0; exponent >>= 1, factor *= factor) {
    if ((exponent & 1) != 0) result *= factor;
  }
  return static_cast<std::int64_t>(result);
}

std::int64_t integer_binary(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case BinaryOp::Add: return static_cast<std::int64_t>(bits(a) + bits(b));
    case BinaryOp::Sub: return static_cast<std::int64_t>(bits(a) - bits(b));
    case BinaryOp::Mul: return static_cast<std::int64_t>(bits(a) * bits(b));
    case BinaryOp::Div:
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod: {
      if (b == 0) divided_by_zero();
      if (b == -1) return op == BinaryOp::Mod ? 0 : static_cast<std::int64_t>(0U - bits(a));
      const std::int64_t quotient = a / b, remainder = a % b;
      const bool adjust = remainder != 0 && ((remainder < 0) != (b < 0));
      if (op == BinaryOp::Div) return quotient;
      return op == BinaryOp::FloorDiv ? quotient - (adjust ? 1 : 0) : remainder + (adjust ? b : 0);
    }
    case BinaryOp::Min: return std::min(a, b);
    case BinaryOp::Max: return std::max(a, b);
    case BinaryOp::Pow: return power(a, b);
    case BinaryOp::Lt: return a < b ? 1 : 0;
    case BinaryOp::Le: return a <= b ? 1 : 0;
    case BinaryOp::Gt: return a > b ? 1 : 0;
    case BinaryOp::Ge: return a >= b ? 1 : 0;
    case BinaryOp::Eq: return a == b ? 1 : 0;
    case BinaryOp::Ne: return a != b ? 1 : 0;
    case BinaryOp::And: return a & b;
    case BinaryOp::Or: return a | b;
  }
  return 0;
}

/// Magnitudes follow the first-order error of each operation: |f'| times the operand's, at least the result itself.
Value float_binary(BinaryOp op, const Value& a, const Value& b) {
  const double x = a.value, y = b.value;
  switch (op) {
    case BinaryOp::Add: return from_float(x + y, a.magnitude + b.magnitude);
    case BinaryOp::Sub: return from_float(x - y, a.magnitude + b.magnitude);
    case BinaryOp::Mul: return from_float(x * y, std::max(std::abs(y) * a.magnitude, std::abs(x) * b.magnitude));
    case BinaryOp::Div:
      return from_float(x / y, std::max(a.magnitude / std::abs(y), std::abs(x / y) * (b.magnitude / std::abs(y))));
    case BinaryOp::Min:
      if (std::isnan(x) || std::isnan(y)) return from_float(std::numeric_limits<double>::quiet_NaN(), 0);
      return from_float(std::min(x, y), std::max(std::abs(std::min(x, y)), x < y ? a.magnitude : b.magnitude));
    case BinaryOp::Max:
      if (std::isnan(x) || std::isnan(y)) return from_float(std::numeric_limits<double>::quiet_NaN(), 0);
      return from_float(std::max(x, y), std::max(std::abs(std::max(x, y)), x > y ? a.magnitude : b.magnitude));
    case BinaryOp::Pow: {
      const double p = std::pow(x, y);
      double magnitude = std::abs(p);
      if (x != 0) magnitude = std::max(magnitude, std::abs(y * p / x) * a.magnitude);
      if (x > 0) magnitude = std::max(magnitude, std::abs(p * std::log(x)) * b.magnitude);
      return from_float(p, magnitude);
    }
    case BinaryOp::Lt: return from_integer(x < y ? 1 : 0);
    case BinaryOp::Le: return from_integer(x <= y ? 1 : 0);
    case BinaryOp::Gt: return from_integer(x > y ? 1 : 0);
    case BinaryOp::Ge: return from_integer(x >= y ? 1 : 0);
    case BinaryOp::Eq: return from_integer(x == y ? 1 : 0);
    case BinaryOp::Ne: return from_integer(x != y ? 1 : 0);
    default: break;
  }
  TEMPER_CHECK(false, "a floating operation that does not exist");
}

Value float_unary(UnaryOp op, const Value& a) {
  const double x = a.value;
  auto smooth = [&](double result, double derivative) {
    return from_float(result, std::abs(result) + std::abs(derivative) * a.magnitude);
  };
  switch (op) {
    case UnaryOp::Neg: return from_float(-x, a.magnitude);
    case UnaryOp::Abs: return from_float(std::abs(x), a.magnitude);
    case UnaryOp::Exp: return smooth(std::exp(x), std::exp(x));
    case UnaryOp::Log: return smooth(std::log(x), 1 / x);
    case UnaryOp::Sqrt: return smooth(std::sqrt(x), x > 0 ? 0.5 / std::sqrt(x) : 0);
    case UnaryOp::Rsqrt: return smooth(1 / std::sqrt(x), x > 0 ? 0.5 / (x * std::sqrt(x)) : 0);
    case UnaryOp::Tanh: return smooth(std::tanh(x), 1 - std::tanh(x) * std::tanh(x));
    case UnaryOp::Erf: return smooth(std::erf(x), 2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
    case UnaryOp::Sigmoid: {
      const double s = 1 / (1 + std::exp(-x));
      return smooth(s, s * (1 - s));
    }
    case UnaryOp::Sin: return smooth(std::sin(x), std::cos(x));
    case UnaryOp::Cos: return smooth(std::cos(x), std::sin(x));
    case UnaryOp::Floor: return from_float(std::floor(x), std::abs(std::floor(x)));
    case UnaryOp::Ceil: return from_float(std::ceil(x), std::abs(std::ceil(x)));
    case UnaryOp::Round: return from_float(std::nearbyint(x), std::abs(x));
    case UnaryOp::Sign: return from_float(std::isnan(x) ? x : (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0), 1);
    case UnaryOp::Not: break;
  }
  TEMPER_CHECK(false, "a floating operation that does not exist");
}

Value integer_unary(UnaryOp op, std::int64_t a, DType dtype) {
  switch (op) {
    case UnaryOp::Neg: return from_integer(wrap(static_cast<std::int64_t>(0U - bits(a)), dtype));
    case UnaryOp::Abs: return from_integer(wrap(a < 0 ? static_cast<std::int64_t>(0U - bits(a)) : a, dtype));
    case UnaryOp::Not: return from_integer(a == 0 ? 1 : 0);
    case UnaryOp::Sign: return from_integer((a > 0 ? 1 : 0) - (a < 0 ? 1 : 0));
    default: break;
  }
  TEMPER_CHECK(false, "an integer operation that does not exist");
}

/// Float to integer truncates and saturates, NaN gives 0.
std::int64_t truncate(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775807.0) return std::numeric_limits<std::int64_t>::max();
  if (value <= -9223372036854775808.0) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

Value convert(const Value& a, DType from, DType to) {
  if (is_float(to)) return is_float(from) ? a : from_float(static_cast<double>(a.integer), a.magnitude);
  if (to == DType::Bool) return from_integer((is_float(from) ? a.value != 0 : a.integer != 0) ? 1 : 0);
  return from_integer(wrap(is_float(from) ? truncate(a.value) : a.integer, to));
}

Value read_element(const std::byte* data, std::int64_t offset, DType dtype) {
  auto read = [&]<class T>(T) {
    T element;
    std::memcpy(&element, data + offset * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return element;
  };
  switch (dtype) {
    case DType::F32: {
      const auto value = static_cast<double>(read(float{}));
      return from_float(value, std::abs(value));
    }
    case DType::F64: {
      const double value = read(double{});
      return from_float(value, std::abs(value));
    }
    case DType::I8: return from_integer(read(std::int8_t{}));
    case DType::U8: return from_integer(read(std::uint8_t{}));
    case DType::I32: return from_integer(read(std::int32_t{}));
    case DType::I64: return from_integer(read(std::int64_t{}));
    case DType::Bool: return from_integer(read(std::uint8_t{}) != 0 ? 1 : 0);
  }
  TEMPER_CHECK(false, "an unknown dtype");
}

/// A node of an expression with everything resolved: axes to slots of the environment, stages to positions.
struct Node {
  ExprKind kind;
  DType dtype;
  UnaryOp unary;
  BinaryOp binary;
  DType operand;  ///< dtype of the first argument
  std::int64_t int_value;
  double float_value;
  std::size_t slot;  ///< Var: environment slot. Param: argument. Load: position of the stage
  std::size_t component;
  std::vector<std::size_t> args;
};

struct StageProgram {
  const Stage* stage = nullptr;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  std::vector<std::int64_t> reduce_shape;
  std::vector<Node> nodes;
  std::vector<std::size_t> body, init, where, identity, combine;
  const std::byte* data = nullptr;  ///< placeholder only
  std::vector<Value> dense;         ///< elements * components, allocated on first use
  std::vector<bool> known;
  std::unordered_map<std::int64_t, std::vector<Value>> sparse;
};

}  // namespace

struct Oracle::Impl {
  std::vector<StageProgram> programs;
  std::unordered_map<const Stage*, std::size_t> positions;

  /// What a stage's expressions see while one of its elements is evaluated.
  struct Environment {
    std::vector<std::int64_t> axes;
    std::vector<Value> arguments;
  };

  Impl(const Compute& compute, const Inputs& inputs) {
    programs.resize(compute.stages.size());
    for (std::size_t i = 0; i < compute.stages.size(); ++i) {
      positions.emplace(compute.stages[i].get(), i);
      prepare(programs[i], *compute.stages[i], inputs);
    }
  }

  void prepare(StageProgram& program, const Stage& stage, const Inputs& inputs) {
    program.stage = &stage;
    program.shape = stage.shape();
    for (std::int64_t extent : program.shape) program.elements *= extent;
    for (const Axis& axis : stage.reduce_axes) program.reduce_shape.push_back(axis.extent().value());
    if (stage.kind == StageKind::Placeholder) {
      const auto found = inputs.find(stage.name);
      if (found == inputs.end()) {
        throw Error(ErrorCode::InvalidArgument, "no data was given for the input", "input '" + stage.name + "'");
      }
      const std::int64_t wanted = stage.memory_elements() * bytes(stage.dtypes[0]);
      if (static_cast<std::int64_t>(found->second.size()) != wanted) {
        throw Error(ErrorCode::InvalidArgument,
                    "the data has " + std::to_string(found->second.size()) + " bytes; the shape needs " +
                        std::to_string(wanted),
                    "input '" + stage.name + "'");
      }
      program.data = found->second.data();
      return;
    }
    std::unordered_map<const AxisNode*, std::size_t> slots;
    for (const Axis& axis : stage.axes) slots.emplace(axis.get(), slots.size());
    for (const Axis& axis : stage.reduce_axes) slots.emplace(axis.get(), slots.size());
    std::unordered_map<const ExprNode*, std::size_t> done;
    auto all = [&](const std::vector<Expr>& roots, std::vector<std::size_t>& into) {
      for (const Expr& root : roots) into.push_back(resolve(program, slots, done, root));
    };
    all(stage.body, program.body);
    all(stage.init, program.init);
    all(stage.where, program.where);
    if (stage.reducer) {
      all(stage.reducer->identity, program.identity);
      all(stage.reducer->combine, program.combine);
    }
  }

  std::size_t resolve(StageProgram& program, const std::unordered_map<const AxisNode*, std::size_t>& slots,
                      std::unordered_map<const ExprNode*, std::size_t>& done, const Expr& e) const {
    if (auto found = done.find(e.get()); found != done.end()) return found->second;
    Node node{e->kind, e->dtype, e->unary, e->binary, e->dtype, e->int_value, e->float_value, 0, 0, {}};
    for (const Expr& child : e->args) node.args.push_back(resolve(program, slots, done, child));
    if (!e->args.empty()) node.operand = e->args[0].dtype();
    if (e->kind == ExprKind::Var) {
      const auto found = slots.find(e->axis.get());
      if (found == slots.end()) {
        throw Error(ErrorCode::InvalidArgument, "axis '" + e->axis.name() + "' does not belong to the stage",
                    "stage '" + program.stage->name + "'");
      }
      node.slot = found->second;
    } else if (e->kind == ExprKind::Param) {
      node.slot = static_cast<std::size_t>(e->index);
    } else if (e->kind == ExprKind::Load) {
      const auto found = positions.find(e->stage.get());
      if (found == positions.end() || &programs[found->second] == &program) {
        throw Error(ErrorCode::InvalidArgument, "reads '" + e->stage->name + "', which is not an earlier stage",
                    "stage '" + program.stage->name + "'");
      }
      node.slot = found->second;
      node.component = static_cast<std::size_t>(e->index);
    }
    program.nodes.push_back(std::move(node));
    done.emplace(e.get(), program.nodes.size() - 1);
    return program.nodes.size() - 1;
  }

  Value evaluate(const StageProgram& program, std::size_t position, const Environment& environment) {
    const Node& node = program.nodes[position];
    auto argument = [&](std::size_t i) { return evaluate(program, node.args[i], environment); };
    switch (node.kind) {
      case ExprKind::Int: return from_integer(node.int_value);
      case ExprKind::Float: return from_float(node.float_value, std::abs(node.float_value));
      case ExprKind::Var: return from_integer(environment.axes[node.slot]);
      case ExprKind::Param: return environment.arguments[node.slot];
      case ExprKind::Unary:
        return is_float(node.operand) ? float_unary(node.unary, argument(0))
                                      : integer_unary(node.unary, argument(0).integer, node.dtype);
      case ExprKind::Binary: {
        if (is_float(node.operand)) return float_binary(node.binary, argument(0), argument(1));
        const std::int64_t a = argument(0).integer;
        // "and" and "or" do not evaluate their right side when the left decides: it may read outside the domain.
        if (node.binary == BinaryOp::And && a == 0) return from_integer(0);
        if (node.binary == BinaryOp::Or && a != 0) return from_integer(1);
        return from_integer(wrap(integer_binary(node.binary, a, argument(1).integer), node.dtype));
      }
      case ExprKind::Select: return argument(argument(0).integer != 0 ? 1 : 2);
      case ExprKind::Cast: return convert(argument(0), node.operand, node.dtype);
      case ExprKind::Load: return load(program, node, environment);
    }
    TEMPER_CHECK(false, "an unknown kind of expression");
  }

  Value load(const StageProgram& program, const Node& node, const Environment& environment) {
    StageProgram& source = programs[node.slot];
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      const std::int64_t index = evaluate(program, node.args[i], environment).integer;
      if (index < 0 || index >= source.shape[i]) {
        throw Error(ErrorCode::InvalidArgument,
                    "reads '" + source.stage->name + "' at index " + std::to_string(index) + " of axis " +
                        std::to_string(i) + ", which has " + std::to_string(source.shape[i]) + " elements",
                    "stage '" + program.stage->name + "'");
      }
      offset = offset * source.shape[i] + index;
    }
    return element(source, offset, node.component);
  }

  /// Where the element at a row-major offset lies.
  static std::int64_t in_memory(const StageProgram& program, std::int64_t offset) {
    if (program.stage->strides.empty()) return offset;
    std::int64_t place = 0;
    for (std::size_t i = program.shape.size(); i-- > 0; offset /= program.shape[i])
      place += offset % program.shape[i] * program.stage->strides[i];
    return place;
  }

  /// One element, from memory, the memo, or the definition.
  Value element(StageProgram& program, std::int64_t offset, std::size_t component) {
    if (program.data != nullptr)
      return read_element(program.data, in_memory(program, offset), program.stage->dtypes[0]);
    const std::size_t components = program.body.size();
    const auto place = static_cast<std::size_t>(offset);
    if (program.elements > kLargestDenseMemo) {
      if (auto found = program.sparse.find(offset); found != program.sparse.end()) return found->second[component];
      std::vector<Value> values = compute_element(program, offset);
      const Value result = values[component];
      program.sparse.emplace(offset, std::move(values));
      return result;
    }
    if (program.known.empty()) {
      program.known.resize(static_cast<std::size_t>(program.elements));
      program.dense.resize(static_cast<std::size_t>(program.elements) * components);
    }
    if (!program.known[place]) {
      const std::vector<Value> values = compute_element(program, offset);
      std::copy(values.begin(), values.end(), program.dense.begin() + static_cast<std::ptrdiff_t>(place * components));
      program.known[place] = true;
    }
    return program.dense[place * components + component];
  }

  std::vector<Value> compute_element(StageProgram& program, std::int64_t offset) {
    const std::size_t rank = program.shape.size(), components = program.body.size();
    Environment environment;
    environment.axes.resize(rank + program.reduce_shape.size());
    for (std::size_t i = rank; i-- > 0; offset /= program.shape[i]) environment.axes[i] = offset % program.shape[i];
    auto values_of = [&](const std::vector<std::size_t>& roots) {
      std::vector<Value> values;
      values.reserve(roots.size());
      for (std::size_t root : roots) values.push_back(evaluate(program, root, environment));
      return values;
    };
    if (!program.stage->reducer) return values_of(program.body);

    std::vector<Value> running = values_of(program.init.empty() ? program.identity : program.init);
    // An infinite identity (of max) must not make the magnitude infinite.
    if (program.init.empty()) {
      for (Value& value : running) value.magnitude = std::isinf(value.value) ? 0 : value.magnitude;
    }
    if (std::find(program.reduce_shape.begin(), program.reduce_shape.end(), 0) != program.reduce_shape.end())
      return running;
    environment.arguments.resize(2 * components);
    while (true) {
      const bool exists = std::all_of(program.where.begin(), program.where.end(), [&](std::size_t condition) {
        return evaluate(program, condition, environment).integer != 0;
      });
      if (exists) {
        for (std::size_t i = 0; i < components; ++i) {
          environment.arguments[i] = running[i];
          environment.arguments[components + i] = evaluate(program, program.body[i], environment);
        }
        for (std::size_t i = 0; i < components; ++i) running[i] = evaluate(program, program.combine[i], environment);
      }
      std::size_t digit = program.reduce_shape.size();
      while (digit > 0 && ++environment.axes[rank + digit - 1] == program.reduce_shape[digit - 1]) {
        environment.axes[rank + digit - 1] = 0;
        --digit;
      }
      if (digit == 0) return running;
    }
  }

  StageProgram& find(const Stage& stage, int component) {
    const auto found = positions.find(&stage);
    if (found == positions.end()) {
      throw Error(ErrorCode::InvalidArgument, "'" + stage.name + "' is not a stage of this compute");
    }
    if (component < 0 || static_cast<std::size_t>(component) >= stage.dtypes.size()) {
      throw Error(ErrorCode::InvalidArgument, "'" + stage.name + "' has no component " + std::to_string(component));
    }
    return programs[found->second];
  }
};

Oracle::Oracle(const Compute& compute, const Inputs& inputs) : impl_(std::make_unique<Impl>(compute, inputs)) {}
Oracle::~Oracle() = default;

Evaluated Oracle::at(const Stage& stage, std::span<const std::int64_t> index, int component) {
  StageProgram& program = impl_->find(stage, component);
  if (index.size() != program.shape.size()) {
    throw Error(ErrorCode::InvalidArgument, "'" + stage.name + "' has " + std::to_string(program.shape.size()) +
                                                " axes but was asked for with " + std::to_string(index.size()) +
                                                " indices");
  }
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= program.shape[i]) {
      throw Error(ErrorCode::InvalidArgument, "index " + std::to_string(index[i]) + " is outside axis " +
                                                  std::to_string(i) + " of '" + stage.name + "', which has " +
                                                  std::to_string(program.shape[i]) + " elements");
    }
    offset = offset * program.shape[i] + index[i];
  }
  const Value value = impl_->element(program, offset, static_cast<std::size_t>(component));
  return {value.value, value.magnitude};
}

std::vector<double> Oracle::all(const Stage& stage, int component) {
  StageProgram& program = impl_->find(stage, component);
  std::vector<double> result(static_cast<std::size_t>(program.elements));
  for (std::int64_t i = 0; i < program.elements; ++i) {
    result[static_cast<std::size_t>(i)] = impl_->element(program, i, static_cast<std::size_t>(component)).value;
  }
  return result;
}

std::vector<std::int64_t> Oracle::all_integers(const Stage& stage, int component) {
  StageProgram& program = impl_->find(stage, component);
  const auto place = static_cast<std::size_t>(component);
  if (is_float(stage.dtypes[place])) {
    throw Error(ErrorCode::InvalidArgument, "'" + stage.name + "' holds floating-point numbers, not integers");
  }
  std::vector<std::int64_t> result(static_cast<std::size_t>(program.elements));
  for (std::int64_t i = 0; i < program.elements; ++i) {
    result[static_cast<std::size_t>(i)] = impl_->element(program, i, place).integer;
  }
  return result;
}

}  // namespace temper::ir
