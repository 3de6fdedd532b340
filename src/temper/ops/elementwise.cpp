#include "temper/ops/elementwise.h"

#include <array>
#include <cmath>
#include <limits>

#include "temper/ops/activations.h"
#include "temper/ops/elementary.h"
#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;
using ir::UnaryOp;
using Operands = std::vector<Expr>;

namespace {

double attribute(const Node& node, std::string_view name, double if_absent) {
  return node.attributes->number(name, if_absent);
}
Expr like(const Expr& x, double value) { return ir::literal(value, x.dtype()); }

template <UnaryOp Op>
Expr unary(const Node&, const Operands& x) {
  return ir::unary(Op, x[0]);
}
template <BinaryOp Op>
Expr binary(const Node&, const Operands& x) {
  return ir::binary(Op, x[0], x[1]);
}
/// Sum, Max, Min: any number of operands.
template <BinaryOp Op>
Expr variadic(const Node&, const Operands& x) {
  Expr result = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) result = ir::binary(Op, result, x[i]);
  return result;
}
template <Expr (*Formula)(const Expr&)>
Expr formula(const Node&, const Operands& x) {
  return Formula(x[0]);
}

Expr mean(const Node& node, const Operands& x) {
  return variadic<BinaryOp::Add>(node, x) * like(x[0], 1.0 / static_cast<double>(x.size()));
}
/// Floor and rounding leave integers alone.
template <UnaryOp Op>
Expr rounding(const Node&, const Operands& x) {
  return ir::is_float(x[0].dtype()) ? ir::unary(Op, x[0]) : x[0];
}
Expr power(const Node& node, const Operands& x) {
  const DType dtype = x[0].dtype();
  if (!ir::is_float(dtype)) {
    if (!ir::is_float(x[1].dtype())) return integer_power(x[0], ir::cast(x[1], dtype));
    return ir::cast(ir::pow(ir::cast(x[0], x[1].dtype()), x[1]), dtype);
  }
  const Expr exponent = ir::cast(x[1], dtype);
  if (node.inputs[1].value != nullptr && node.inputs[1].value->type.elements() == 1) {
    const double value = node.inputs[1].value->numbers()[0];
    if (value == 1) return x[0];
    if (value == 2) return x[0] * x[0];
    if (value == 3) return x[0] * x[0] * x[0];
    if (value == 0.5) return ir::sqrt(x[0]);
  }
  return ir::pow(x[0], exponent);
}
Expr modulo(const Node& node, const Operands& x) {
  if (node.attributes->integer("fmod", 0) != 0) return truncated_remainder(x[0], x[1]);
  if (ir::is_float(x[0].dtype())) invalid(node, "fmod=0 needs integers");
  return floor_remainder(x[0], x[1]);
}
/// Formulas whose accuracy is that of floats.
template <Expr (*Formula)(const Expr&)>
Expr float_formula(const Node& node, const Operands& x) {
  if (x[0].dtype() != DType::F32) unsupported(node, "only float (float32) is supported");
  return Formula(x[0]);
}
Expr celu(const Node& node, const Operands& x) {
  const double alpha = attribute(node, "alpha", 1);
  return relu(x[0]) +
         ir::min(like(x[0], 0),
                 like(x[0], alpha) * (ir::exp(ir::min(x[0], like(x[0], 0)) * like(x[0], 1 / alpha)) - like(x[0], 1)));
}
Expr shrink(const Node& node, const Operands& x) {
  const double bias = attribute(node, "bias", 0), bound = attribute(node, "lambd", 0.5);
  return ir::select(x[0] < like(x[0], -bound), x[0] + like(x[0], bias),
                    ir::select(x[0] > like(x[0], bound), x[0] - like(x[0], bias), like(x[0], 0)));
}
Expr swish(const Node& node, const Operands& x) {
  return x[0] * ir::sigmoid(x[0] * like(x[0], attribute(node, "alpha", 1)));
}
Expr reciprocal(const Node&, const Operands& x) { return like(x[0], 1) / x[0]; }
Expr leaky_relu_node(const Node& node, const Operands& x) { return leaky_relu(x[0], attribute(node, "alpha", 0.01)); }
Expr prelu(const Node&, const Operands& x) { return ir::select(x[0] >= like(x[0], 0), x[0], x[0] * x[1]); }
Expr elu_node(const Node& node, const Operands& x) { return elu(x[0], attribute(node, "alpha", 1)); }
Expr selu_node(const Node& node, const Operands& x) {
  return selu(x[0], attribute(node, "alpha", 1.6732632423543772), attribute(node, "gamma", 1.0507009873554805));
}
Expr hard_sigmoid_node(const Node& node, const Operands& x) {
  return hard_sigmoid(x[0], attribute(node, "alpha", 0.2), attribute(node, "beta", 0.5));
}
Expr thresholded_relu(const Node& node, const Operands& x) {
  return ir::select(x[0] > like(x[0], attribute(node, "alpha", 1)), x[0], like(x[0], 0));
}
Expr gelu_node(const Node& node, const Operands& x) {
  const std::string approximate = node.attributes->text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") invalid(node, "approximate='" + approximate + "' is not known");
  return approximate == "tanh" ? gelu_tanh(x[0]) : gelu(x[0]);
}
Expr clip_node(const Node& node, const Operands& x) {
  Expr result = x[0];
  if (node.opset < 11) {
    if (node.attributes->has("min")) result = ir::max(result, like(result, attribute(node, "min", 0)));
    if (node.attributes->has("max")) result = ir::min(result, like(result, attribute(node, "max", 0)));
    return result;
  }
  if (node.has(1)) result = ir::max(result, x[1]);
  if (node.has(2)) result = ir::min(result, x[2]);
  return result;
}
Expr cast_node(const Node& node, const Operands& x) {
  const DType to = dtype_from_onnx(node, node.attributes->integer("to"));
  if (to == DType::Bool && x[0].dtype() != DType::Bool) return x[0] != like(x[0], 0);
  return ir::cast(x[0], to);
}
Expr where_node(const Node&, const Operands& x) { return ir::select(x[0], x[1], x[2]); }
Expr not_node(const Node&, const Operands& x) { return ir::unary(UnaryOp::Not, x[0]); }
Expr is_nan(const Node&, const Operands& x) { return x[0] != x[0]; }
Expr is_inf(const Node& node, const Operands& x) {
  const double infinity = std::numeric_limits<double>::infinity();
  const bool positive = node.attributes->integer("detect_positive", 1) != 0,
             negative = node.attributes->integer("detect_negative", 1) != 0;
  if (positive && negative) return ir::abs(x[0]) == like(x[0], infinity);
  if (!positive && !negative) return x[0] != x[0] && x[0] == x[0];
  return x[0] == like(x[0], positive ? infinity : -infinity);
}
/// Exactly as ONNX Runtime computes it: x·max(0, min(1, x/6 + 1/2)).
Expr hard_swish_node(const Node&, const Operands& x) { return hard_swish(x[0]); }

struct Elementwise {
  std::string_view name;
  int min_inputs, max_inputs, first_opset;
  Expr (*apply)(const Node&, const Operands&);
  std::string_view summary;
};

constexpr std::array kElementwise{
    Elementwise{"Abs", 1, 1, 6, unary<UnaryOp::Abs>, "|x|"},
    Elementwise{"Acos", 1, 1, 7, float_formula<acos>, "arc cosine"},
    Elementwise{"Acosh", 1, 1, 9, float_formula<acosh>, "area hyperbolic cosine"},
    Elementwise{"Add", 2, 2, 7, binary<BinaryOp::Add>, "a + b"},
    Elementwise{"And", 2, 2, 7, binary<BinaryOp::And>, "a and b"},
    Elementwise{"Asin", 1, 1, 7, float_formula<asin>, "arc sine"},
    Elementwise{"Asinh", 1, 1, 9, float_formula<asinh>, "area hyperbolic sine"},
    Elementwise{"Atan", 1, 1, 7, float_formula<atan>, "arc tangent"},
    Elementwise{"Atanh", 1, 1, 9, float_formula<atanh>, "area hyperbolic tangent"},
    Elementwise{"Cast", 1, 1, 6, cast_node, "x in another type"},
    Elementwise{"Ceil", 1, 1, 6, rounding<UnaryOp::Ceil>, "smallest integer >= x"},
    Elementwise{"Celu", 1, 1, 12, celu, "x, or alpha*(exp(x/alpha) - 1) below 0"},
    Elementwise{"Clip", 1, 3, 6, clip_node, "min(max(x, low), high)"},
    Elementwise{"Cos", 1, 1, 7, unary<UnaryOp::Cos>, "cos(x)"},
    Elementwise{"Cosh", 1, 1, 9, float_formula<cosh>, "hyperbolic cosine"},
    Elementwise{"Div", 2, 2, 7, binary<BinaryOp::Div>, "a / b; integers towards zero"},
    Elementwise{"Elu", 1, 1, 6, elu_node, "x, or alpha*(exp(x) - 1) below 0"},
    Elementwise{"Equal", 2, 2, 7, binary<BinaryOp::Eq>, "a == b"},
    Elementwise{"Erf", 1, 1, 9, unary<UnaryOp::Erf>, "erf(x)"},
    Elementwise{"Exp", 1, 1, 6, unary<UnaryOp::Exp>, "exp(x)"},
    Elementwise{"Floor", 1, 1, 6, rounding<UnaryOp::Floor>, "largest integer <= x"},
    Elementwise{"Gelu", 1, 1, 20, gelu_node, "x/2*(1 + erf(x/sqrt(2))), or its tanh approximation"},
    Elementwise{"Greater", 2, 2, 7, binary<BinaryOp::Gt>, "a > b"},
    Elementwise{"GreaterOrEqual", 2, 2, 12, binary<BinaryOp::Ge>, "a >= b"},
    Elementwise{"HardSigmoid", 1, 1, 6, hard_sigmoid_node, "clip(alpha*x + beta, 0, 1)"},
    Elementwise{"HardSwish", 1, 1, 14, hard_swish_node, "x*clip(x/6 + 1/2, 0, 1)"},
    Elementwise{"IsInf", 1, 1, 10, is_inf, "whether x is infinite"},
    Elementwise{"IsNaN", 1, 1, 9, is_nan, "whether x is not a number"},
    Elementwise{"LeakyRelu", 1, 1, 6, leaky_relu_node, "x, or alpha*x below 0"},
    Elementwise{"Less", 2, 2, 7, binary<BinaryOp::Lt>, "a < b"},
    Elementwise{"LessOrEqual", 2, 2, 12, binary<BinaryOp::Le>, "a <= b"},
    Elementwise{"Log", 1, 1, 6, unary<UnaryOp::Log>, "natural logarithm"},
    Elementwise{"Max", 1, -1, 6, variadic<BinaryOp::Max>, "largest operand"},
    Elementwise{"Mean", 1, -1, 6, mean, "mean of the operands"},
    Elementwise{"Min", 1, -1, 6, variadic<BinaryOp::Min>, "smallest operand"},
    Elementwise{"Mish", 1, 1, 18, formula<mish>, "x*tanh(softplus(x))"},
    Elementwise{"Mod", 2, 2, 10, modulo, "remainder with the sign of the divisor"},
    Elementwise{"Mul", 2, 2, 7, binary<BinaryOp::Mul>, "a * b"},
    Elementwise{"Neg", 1, 1, 6, unary<UnaryOp::Neg>, "-x"},
    Elementwise{"Not", 1, 1, 1, not_node, "not x"},
    Elementwise{"Or", 2, 2, 7, binary<BinaryOp::Or>, "a or b"},
    Elementwise{"PRelu", 2, 2, 7, prelu, "x, or slope*x below 0"},
    Elementwise{"Pow", 2, 2, 7, power, "a to the power b"},
    Elementwise{"Reciprocal", 1, 1, 6, reciprocal, "1 / x"},
    Elementwise{"Relu", 1, 1, 6, formula<relu>, "max(x, 0)"},
    Elementwise{"Round", 1, 1, 11, rounding<UnaryOp::Round>, "nearest integer, half to even"},
    Elementwise{"Selu", 1, 1, 6, selu_node, "gamma*elu(x, alpha)"},
    Elementwise{"Shrink", 1, 1, 9, shrink, "x moved towards 0 by a bias, 0 between -lambd and lambd"},
    Elementwise{"Sigmoid", 1, 1, 6, unary<UnaryOp::Sigmoid>, "1 / (1 + exp(-x))"},
    Elementwise{"Sign", 1, 1, 9, unary<UnaryOp::Sign>, "-1, 0 or 1"},
    Elementwise{"Sin", 1, 1, 7, unary<UnaryOp::Sin>, "sin(x)"},
    Elementwise{"Sinh", 1, 1, 9, float_formula<sinh>, "hyperbolic sine"},
    Elementwise{"Softplus", 1, 1, 1, formula<softplus>, "log(1 + exp(x))"},
    Elementwise{"Softsign", 1, 1, 1, formula<softsign>, "x / (1 + |x|)"},
    Elementwise{"Sqrt", 1, 1, 6, unary<UnaryOp::Sqrt>, "square root"},
    Elementwise{"Sub", 2, 2, 7, binary<BinaryOp::Sub>, "a - b"},
    Elementwise{"Sum", 1, -1, 6, variadic<BinaryOp::Add>, "sum of the operands"},
    Elementwise{"Swish", 1, 1, 24, swish, "x*sigmoid(alpha*x)"},
    Elementwise{"Tan", 1, 1, 7, float_formula<tan>, "tan(x)"},
    Elementwise{"Tanh", 1, 1, 6, unary<UnaryOp::Tanh>, "tanh(x)"},
    Elementwise{"ThresholdedRelu", 1, 1, 10, thresholded_relu, "x above alpha, else 0"},
    Elementwise{"Where", 3, 3, 9, where_node, "a where the condition holds, else b"},
    Elementwise{"Xor", 2, 2, 7, binary<BinaryOp::Ne>, "either a or b"},
};

const Elementwise* find(std::string_view name) {
  for (const Elementwise& entry : kElementwise) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::vector<ir::Tensor> build_elementwise(const Node& node) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.has(i)) shapes.push_back(node.inputs[i].tensor.shape());
  }
  const std::vector<std::int64_t> shape = broadcast_shape(node, shapes);
  return {ir::compute(node.name, extents(shape), [&](std::span<const ir::Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    Operands operands;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      operands.push_back(node.has(i) ? broadcast_read(node.inputs[i], index) : Expr());
    }
    return ir::Definition(apply_elementwise(node, operands));
  })};
}

template <std::size_t... I>
constexpr std::array<Operator, sizeof...(I)> as_operators(std::index_sequence<I...>) {
  return {Operator{kElementwise[I].name, OperatorClass::Elementwise, kElementwise[I].summary,
                   kElementwise[I].min_inputs, kElementwise[I].max_inputs, kElementwise[I].first_opset,
                   build_elementwise}...};
}
constexpr auto kOperators = as_operators(std::make_index_sequence<kElementwise.size()>());

}  // namespace

std::span<const Operator> elementwise_operators() { return kOperators; }

Expr apply_elementwise(const Node& node, const std::vector<Expr>& operands) {
  const Elementwise* entry = find(node.op);
  if (entry == nullptr) unsupported(node, "'" + node.op + "' is not an elementwise operator");
  return entry->apply(node, operands);
}

DType dtype_from_onnx(const Node& node, std::int64_t number) {
  struct Pair {
    std::int64_t number;
    DType dtype;
  };
  static constexpr std::array kTypes{Pair{1, DType::F32}, Pair{2, DType::U8},  Pair{3, DType::I8},
                                     Pair{6, DType::I32}, Pair{7, DType::I64}, Pair{9, DType::Bool},
                                     Pair{11, DType::F64}};
  for (const Pair& pair : kTypes) {
    if (pair.number == number) return pair.dtype;
  }
  unsupported(node, "element type number " + std::to_string(number) + " of ONNX is not supported",
              "supported are float, double, int8, uint8, int32, int64 and bool");
}

}  // namespace temper::ops
