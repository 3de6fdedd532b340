#include "temper/ops/gemm.h"

#include "temper/ops/indexing.h"
#include "temper/ops/matmul.h"

namespace temper::ops {

using ir::Expr;
using ir::Tensor;

std::vector<Tensor> build_gemm(const Node& node) {
  const Attributes& attributes = *node.attributes;
  const double alpha = attributes.number("alpha", 1), beta = attributes.number("beta", 1);
  const bool trans_a = attributes.integer("transA", 0) != 0, trans_b = attributes.integer("transB", 0) != 0;
  const Tensor &a = node.input(0), &b = node.input(1);
  if (a.shape().size() != 2 || b.shape().size() != 2) invalid(node, "the operands must be matrices");
  const bool has_c = node.has(2) && beta != 0;
  if (!has_c && alpha == 1) return {matmul(a, b, node.name, trans_a, trans_b)};
  const Tensor product = matmul(a, b, node.name + "_product", trans_a, trans_b);
  if (has_c && broadcast_shape(node, {product.shape(), node.input(2).shape()}) != product.shape()) {
    invalid(node, "C of shape " + type_of(node.input(2)).text() + " does not broadcast to " + type_of(product).text());
  }
  const ir::DType dtype = product.dtype();
  return {ir::compute(node.name, extents(product.shape()),
                      [&](std::span<const ir::Axis> axes) {
                        const std::vector<Expr> index = as_exprs(axes);
                        Expr value = product.at(index);
                        if (alpha != 1) value = value * ir::literal(alpha, dtype);
                        if (has_c) {
                          const Expr c = broadcast_read(node.inputs[2], index);
                          value = value + (beta == 1 ? c : c * ir::literal(beta, dtype));
                        }
                        return ir::Definition(value);
                      },
                      {"m", "n"})};
}

}  // namespace temper::ops
