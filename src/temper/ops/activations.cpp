#include "temper/ops/activations.h"

#include <cmath>
#include <numbers>

namespace temper::ops {

using ir::Expr;

namespace {
Expr like(const Expr& x, double value) { return ir::literal(value, x.dtype()); }
}  // namespace

Expr relu(const Expr& x) { return ir::max(x, like(x, 0)); }
Expr clip(const Expr& x, double low, double high) { return ir::min(ir::max(x, like(x, low)), like(x, high)); }
Expr leaky_relu(const Expr& x, double alpha) { return ir::select(x >= like(x, 0), x, x * like(x, alpha)); }
Expr hard_sigmoid(const Expr& x, double alpha, double beta) { return clip(x * like(x, alpha) + like(x, beta), 0, 1); }
Expr hard_swish(const Expr& x) { return x * hard_sigmoid(x, 1.0 / 6.0, 0.5); }
Expr elu(const Expr& x, double alpha) {
  // The exponent is clamped so that the branch that is not taken cannot overflow.
  return ir::select(x > like(x, 0), x, like(x, alpha) * (ir::exp(ir::min(x, like(x, 0))) - like(x, 1)));
}
Expr selu(const Expr& x, double alpha, double gamma) { return like(x, gamma) * elu(x, alpha); }
Expr softplus(const Expr& x) { return relu(x) + ir::log(like(x, 1) + ir::exp(-ir::abs(x))); }
Expr softsign(const Expr& x) { return x / (like(x, 1) + ir::abs(x)); }
Expr silu(const Expr& x) { return x * ir::sigmoid(x); }
Expr mish(const Expr& x) { return x * ir::tanh(softplus(x)); }
Expr gelu(const Expr& x) { return like(x, 0.5) * x * (like(x, 1) + ir::erf(x * like(x, 1 / std::numbers::sqrt2))); }
Expr gelu_tanh(const Expr& x) {
  const double scale = std::sqrt(2 * std::numbers::inv_pi);
  return like(x, 0.5) * x * (like(x, 1) + ir::tanh(like(x, scale) * (x + like(x, 0.044715) * x * x * x)));
}

}  // namespace temper::ops
