#include "temper/ops/matmul.h"

#include "temper/ops/indexing.h"
#include "temper/ops/reshape.h"
#include "temper/support/error.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

/// Leading axes of an operand, read with broadcasting against the result's.
std::vector<Expr> batch_index(const std::vector<std::int64_t>& shape, std::span<const Axis> axes,
                              std::size_t result_batch) {
  std::vector<Expr> index;
  const std::size_t batch = shape.size() - 2;
  for (std::size_t i = 0; i < batch; ++i)
    index.push_back(shape[i] == 1 ? Expr(0) : Expr(axes[result_batch - batch + i]));
  return index;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, const std::string& name, bool trans_a, bool trans_b) {
  const std::vector<std::int64_t> sa = a.shape(), sb = b.shape();
  if (sa.size() < 2 || sb.size() < 2)
    throw Error(ErrorCode::InvalidArgument, "a matrix product needs operands of rank 2 or more", name);
  const std::int64_t m = sa[sa.size() - (trans_a ? 1 : 2)], ka = sa[sa.size() - (trans_a ? 2 : 1)];
  const std::int64_t n = sb[sb.size() - (trans_b ? 2 : 1)], kb = sb[sb.size() - (trans_b ? 1 : 2)];
  if (ka != kb) {
    throw Error(ErrorCode::InvalidArgument,
                "the inner sizes differ: " + type_of(a).text() + " and " + type_of(b).text() + " give " +
                    std::to_string(ka) + " and " + std::to_string(kb),
                name);
  }
  Node node;
  node.op = "MatMul";
  std::vector<std::int64_t> shape = broadcast_shape(node, {{sa.begin(), sa.end() - 2}, {sb.begin(), sb.end() - 2}});
  const std::size_t batch = shape.size();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < batch; ++i) names.push_back("b" + std::to_string(i));
  names.insert(names.end(), {"m", "n"});
  shape.insert(shape.end(), {m, n});
  const Axis k = ir::reduce("k", ka);
  return ir::compute(
      name, extents(shape),
      [&](std::span<const Axis> axes) {
        std::vector<Expr> ia = batch_index(sa, axes, batch), ib = batch_index(sb, axes, batch);
        const Expr row = axes[batch], column = axes[batch + 1];
        ia.push_back(trans_a ? Expr(k) : row);
        ia.push_back(trans_a ? row : Expr(k));
        ib.push_back(trans_b ? column : Expr(k));
        ib.push_back(trans_b ? Expr(k) : column);
        return ir::sum(a.at(ia) * b.at(ib), {k});
      },
      names);
}

std::vector<Tensor> build_matmul(const Node& node) {
  Tensor a = node.input(0), b = node.input(1);
  const bool vector_a = a.shape().size() == 1, vector_b = b.shape().size() == 1;
  if (a.shape().empty() || b.shape().empty()) invalid(node, "a scalar cannot be multiplied as a matrix");
  if (vector_a) a = reshape(a, {1, a.shape()[0]}, node.name + "_row");
  if (vector_b) b = reshape(b, {b.shape()[0], 1}, node.name + "_column");
  Tensor out = matmul(a, b, vector_a || vector_b ? node.name + "_product" : node.name);
  if (vector_a || vector_b) {
    std::vector<std::int64_t> shape = out.shape();
    if (vector_b) shape.pop_back();
    if (vector_a) shape.erase(shape.end() - (vector_b ? 1 : 2));
    out = reshape(out, shape, node.name);
  }
  return {out};
}

}  // namespace temper::ops
