// Elementwise formulas shared by the elementwise operators and by epilogues. Literals take the dtype of `x`.
#pragma once

#include "temper/ir/expr.h"

namespace temper::ops {

ir::Expr relu(const ir::Expr& x);
ir::Expr clip(const ir::Expr& x, double low, double high);
/// x for x >= 0, else alpha·x.
ir::Expr leaky_relu(const ir::Expr& x, double alpha);
/// max(0, min(1, alpha·x + beta))
ir::Expr hard_sigmoid(const ir::Expr& x, double alpha, double beta);
/// x · hard_sigmoid(x, 1/6, 1/2)
ir::Expr hard_swish(const ir::Expr& x);
/// x for x > 0, else alpha·(exp(x) - 1).
ir::Expr elu(const ir::Expr& x, double alpha);
ir::Expr selu(const ir::Expr& x, double alpha, double gamma);
/// log(1 + exp(x)), without overflow.
ir::Expr softplus(const ir::Expr& x);
ir::Expr softsign(const ir::Expr& x);
/// x·sigmoid(x)
ir::Expr silu(const ir::Expr& x);
/// x·tanh(softplus(x))
ir::Expr mish(const ir::Expr& x);
/// x/2·(1 + erf(x/√2))
ir::Expr gelu(const ir::Expr& x);
/// x/2·(1 + tanh(√(2/π)(x + 0.044715 x³)))
ir::Expr gelu_tanh(const ir::Expr& x);

}  // namespace temper::ops
