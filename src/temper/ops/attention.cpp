#include "temper/ops/attention.h"

#include <cmath>
#include <functional>
#include <limits>

#include "temper/ops/indexing.h"
#include "temper/ops/softmax.h"
#include "temper/support/error.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

enum Input : std::size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };

/// One of Q, K and V, whichever way its heads are stored.
struct Heads {
  Tensor tensor;
  std::int64_t batch = 1, heads = 1, length = 1, size = 1;
  Expr at(const Expr& b, const Expr& h, const Expr& i, const Expr& d) const {
    if (tensor.shape().size() == 4) return tensor.at({b, h, i, d});
    return tensor.at({b, i, heads == 1 ? d : h * Expr(size) + d});
  }
};

Heads heads_of(const Node& node, std::size_t input, std::string_view attribute) {
  const Tensor& tensor = node.input(input);
  const std::vector<std::int64_t> shape = tensor.shape();
  if (shape.size() == 4) return {tensor, shape[0], shape[1], shape[2], shape[3]};
  if (shape.size() != 3) invalid(node, "queries, keys and values must have rank 3 or 4");
  const std::int64_t heads = node.attributes->integer(attribute);
  if (heads < 1 || shape[2] % heads != 0) invalid(node, "the last axis does not divide into heads");
  return {tensor, shape[0], heads, shape[1], shape[2] / heads};
}

/// Keys or values with the earlier ones before them, as [batch, heads, length, size].
Heads with_past(const Node& node, const Heads& now, std::size_t past_input, const std::string& name) {
  if (!node.has(past_input)) {
    if (now.tensor.shape().size() == 4) return now;
    const Tensor moved = ir::define(name, {now.batch, now.heads, now.length, now.size},
                                    [&](Axis b, Axis h, Axis i, Axis d) { return ir::Definition(now.at(b, h, i, d)); });
    return {moved, now.batch, now.heads, now.length, now.size};
  }
  const Tensor& past = node.input(past_input);
  const std::vector<std::int64_t> shape = past.shape();
  if (shape.size() != 4 || shape[0] != now.batch || shape[1] != now.heads || shape[3] != now.size)
    invalid(node, "earlier keys or values do not fit the new ones");
  const std::int64_t before = shape[2], length = before + now.length;
  const Tensor all = ir::define(name, {now.batch, now.heads, length, now.size}, [&](Axis b, Axis h, Axis i, Axis d) {
    return ir::Definition(ir::select(i < Expr(before), past(b, h, ir::min(i, Expr(before - 1)), d),
                                     now.at(b, h, ir::max(i - Expr(before), 0), d)));
  });
  return {all, now.batch, now.heads, length, now.size};
}

/// What is added to the scores: 0 or minus infinity where a key must not be seen, or the mask's own numbers.
Expr bias(const Node& node, const std::vector<Expr>& at, std::int64_t past, ir::DType dtype) {
  const Expr zero = ir::literal(0, dtype), never = ir::literal(-std::numeric_limits<double>::infinity(), dtype);
  Expr sum;
  const auto add = [&](const Expr& term) { sum = sum ? sum + term : term; };
  if (node.has(kMask)) {
    const Tensor& mask = node.input(kMask);
    const std::vector<std::int64_t> shape = mask.shape();
    std::vector<Expr> index = at;
    // A mask that ends early hides the keys behind its end.
    const bool is_short = !shape.empty() && shape.back() != 1;
    if (is_short) index.back() = ir::min(index.back(), Expr(shape.back() - 1));
    Expr term = broadcast_read(mask, index);
    if (mask.dtype() == ir::DType::Bool) term = ir::select(term, zero, never);
    if (is_short) term = ir::select(at.back() < Expr(shape.back()), term, never);
    add(term);
  }
  if (node.attributes->integer("is_causal", 0) != 0) add(ir::select(at[2] + Expr(past) < at[3], never, zero));
  if (node.has(kLengths)) {
    const Expr length = ir::cast(node.input(kLengths).at({at[0]}), ir::DType::I64);
    add(ir::select(at[3] < length, zero, never));
  }
  return sum;
}

}  // namespace

namespace {

std::vector<std::int64_t> heads_shape(const AttentionShape& s, std::int64_t heads, std::int64_t length,
                                      std::int64_t size) {
  return s.heads_inside ? std::vector<std::int64_t>{s.batch, length, heads, size}
                        : std::vector<std::int64_t>{s.batch, heads, length, size};
}

}  // namespace

std::vector<std::int64_t> AttentionShape::query_shape() const { return heads_shape(*this, heads, queries, depth); }
std::vector<std::int64_t> AttentionShape::key_shape() const { return heads_shape(*this, key_heads, keys, depth); }
std::vector<std::int64_t> AttentionShape::value_shape() const {
  return heads_shape(*this, key_heads, keys, value_depth);
}
std::vector<std::int64_t> AttentionShape::output_shape() const {
  return heads_shape(*this, heads, queries, value_depth);
}

Tensor attention(const AttentionShape& s, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                 const std::string& name) {
  if (s.key_heads < 1 || s.heads % s.key_heads != 0) {
    throw Error(ErrorCode::InvalidArgument,
                std::to_string(s.heads) + " query heads cannot share " + std::to_string(s.key_heads) + " key heads",
                name, "the key heads must divide the query heads");
  }
  const std::vector<std::int64_t> scores_shape{s.batch, s.heads, s.queries, s.keys};
  for (std::size_t i = 0; i < s.mask.size(); ++i) {
    if (s.mask.size() != 4 || (s.mask[i] != 1 && s.mask[i] != scores_shape[i])) {
      throw Error(ErrorCode::InvalidArgument, "the mask does not fit the scores", name,
                  "four sizes, each 1 or that of batch, heads, queries and keys");
    }
  }
  const auto read = [&](const Tensor& tensor, const Expr& b, const Expr& h, const Expr& i, const Expr& d) {
    return s.heads_inside ? tensor(b, i, h, d) : tensor(b, h, i, d);
  };
  const auto key_head = [&](const Axis& h) {
    return s.heads == s.key_heads ? Expr(h) : ir::floor_div(h, Expr(s.heads / s.key_heads));
  };
  const std::vector<std::string> row_names{"b", "h", "i", "j"};
  const Tensor queries = ir::compute(name + "_queries", extents(s.query_shape()), [&](std::span<const Axis> axes) {
    return ir::Definition(q.at(as_exprs(axes)) * ir::literal(s.scale, s.dtype));
  });
  const Tensor product = ir::define(
      name + "_product", extents(scores_shape),
      [&](Axis b, Axis h, Axis i, Axis j) {
        const Axis d = ir::reduce("d", s.depth);
        return ir::sum(read(queries, b, h, i, d) * read(k, b, key_head(h), j, d), {d});
      },
      row_names);
  const Tensor scores = ir::compute(
      name + "_scores", extents(scores_shape),
      [&](std::span<const Axis> axes) {
        const std::vector<Expr> at = as_exprs(axes);
        return ir::Definition(s.mask.empty() ? product.at(at) : product.at(at) + broadcast_read(mask, at));
      },
      row_names);
  const SoftmaxParts weights = softmax_parts(scores, {3}, name + "_weights");
  const Tensor values =
      ir::define(name + "_values", {s.batch, s.heads, s.queries, s.value_depth},
                 [&](Axis b, Axis h, Axis i, Axis d) {
                   const Axis j = ir::reduce("j", s.keys);
                   return ir::sum(weights.exponential(b, h, i, j) * read(v, b, key_head(h), j, d), {j});
                 },
                 {"b", "h", "i", "d"});
  return ir::compute(
      name, extents(s.output_shape()),
      [&](std::span<const Axis> axes) {
        const Expr b = axes[0], h = axes[s.heads_inside ? 2 : 1], i = axes[s.heads_inside ? 1 : 2], d = axes[3];
        return ir::Definition(values(b, h, i, d) * weights.scale(b, h, i));
      },
      s.heads_inside ? std::vector<std::string>{"b", "i", "h", "d"} : std::vector<std::string>{"b", "h", "i", "d"});
}

std::vector<Tensor> build_attention(const Node& node) {
  const Heads q = heads_of(node, kQuery, "q_num_heads");
  const Heads new_k = heads_of(node, kKey, "kv_num_heads"), new_v = heads_of(node, kValue, "kv_num_heads");
  const ir::DType dtype = q.tensor.dtype();
  if (!ir::is_float(dtype)) invalid(node, "queries must be floating point");
  if (new_k.heads != new_v.heads || q.heads % new_k.heads != 0 || q.size != new_k.size ||
      new_k.length != new_v.length || q.batch != new_k.batch || q.batch != new_v.batch)
    invalid(node, "queries, keys and values do not fit together");
  if (node.has(kPastKey) != node.has(kPastValue)) invalid(node, "earlier keys need earlier values, and the reverse");
  const Heads k = with_past(node, new_k, kPastKey, node.name + "_keys"),
              v = with_past(node, new_v, kPastValue, node.name + "_values");
  const std::int64_t past = k.length - new_k.length, shared = q.heads / k.heads;
  const double scale = node.attributes->number("scale", 1 / std::sqrt(static_cast<double>(q.size)));
  const double cap = node.attributes->number("softcap", 0);
  const std::vector<ir::Extent> sizes{q.batch, q.heads, q.length, k.length};
  const auto key_head = [&](const Axis& h) { return shared == 1 ? Expr(h) : ir::floor_div(h, Expr(shared)); };

  const Tensor product = ir::define(node.name + "_product", sizes, [&](Axis b, Axis h, Axis i, Axis j) {
    const Axis d = ir::reduce("d", q.size);
    return ir::sum(q.at(b, h, i, d) * k.at(b, key_head(h), j, d), {d});
  });
  const auto capped = [&](const Expr& x) {
    return cap == 0 ? x : ir::tanh(x * ir::literal(1 / cap, dtype)) * ir::literal(cap, dtype);
  };
  // In this order: scaled, capped, masked.
  const auto scores = [&](const std::string& name, bool is_capped, bool is_masked) {
    return ir::compute(name, sizes, [&](std::span<const Axis> axes) {
      const std::vector<Expr> at = as_exprs(axes);
      Expr x = product.at(at) * ir::literal(scale, dtype);
      if (is_capped) x = capped(x);
      const Expr offset = is_masked ? bias(node, at, past, dtype) : Expr();
      return ir::Definition(offset ? x + offset : x);
    });
  };
  const Tensor weights = softmax(scores(node.name + "_scores", true, true), {3}, node.name + "_weights");
  const auto result = [&](const std::string& name) {
    return ir::define(name, {q.batch, q.heads, q.length, v.size}, [&](Axis b, Axis h, Axis i, Axis d) {
      const Axis j = ir::reduce("j", k.length);
      return ir::sum(weights(b, h, i, j) * v.at(b, key_head(h), j, d), {j});
    });
  };
  std::vector<Tensor> outputs;
  if (q.tensor.shape().size() == 4) {
    outputs.push_back(result(node.name));
  } else {
    const Tensor heads = result(node.name + "_heads");
    outputs.push_back(ir::define(node.name, {q.batch, q.length, q.heads * v.size}, [&](Axis b, Axis i, Axis c) {
      return ir::Definition(heads(b, ir::floor_div(c, Expr(v.size)), i, ir::mod(c, Expr(v.size))));
    }));
  }
  if (node.outputs > 1) {
    // A fresh stage where the keys are an input as they are.
    const auto copied = [&](const Heads& all, const std::string& name) {
      if (all.tensor.stage()->kind == ir::StageKind::Compute) return all.tensor;
      return ir::compute(name, extents(all.tensor.shape()),
                         [&](std::span<const Axis> axes) { return ir::Definition(all.tensor.at(as_exprs(axes))); });
    };
    outputs.push_back(copied(k, node.name + "_present_key"));
    outputs.push_back(copied(v, node.name + "_present_value"));
  }
  if (node.outputs > 3) {
    const std::string name = node.name + "_seen";
    switch (node.attributes->integer("qk_matmul_output_mode", 0)) {
      case 0: outputs.push_back(scores(name, false, false)); break;
      case 1: outputs.push_back(scores(name, true, false)); break;
      case 2: outputs.push_back(scores(name, true, true)); break;
      case 3: outputs.push_back(weights); break;
      default: invalid(node, "qk_matmul_output_mode is 0 to 3");
    }
  }
  return outputs;
}

std::vector<Tensor> build_rotary_embedding(const Node& node) {
  const Tensor &in = node.input(0), &cosines = node.input(1), &sines = node.input(2);
  const std::vector<std::int64_t> shape = in.shape();
  const bool flat = shape.size() == 3;
  if (!flat && shape.size() != 4) invalid(node, "the input must have rank 3 or 4");
  const std::int64_t heads = flat ? node.attributes->integer("num_heads") : shape[1];
  if (flat && (heads < 1 || shape[2] % heads != 0)) invalid(node, "the last axis does not divide into heads");
  const std::int64_t size = flat ? shape[2] / heads : shape[3];
  std::int64_t turned = node.attributes->integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = size;
  if (turned > size || turned % 2 != 0) invalid(node, "rotary_embedding_dim must be even and at most the head's size");
  const std::int64_t half = turned / 2;
  const bool interleaved = node.attributes->integer("interleaved", 0) != 0;
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    const Expr place = flat ? index[1] : index[2];
    const Expr head = flat ? ir::floor_div(index[2], Expr(size)) : Expr(0);
    const Expr d = flat ? ir::mod(index[2], Expr(size)) : index[3];
    const auto element = [&](const Expr& at) {
      std::vector<Expr> from = index;
      from.back() = flat ? head * Expr(size) + at : at;
      return in.at(from);
    };
    // The pair of an element: number, and places of its two halves.
    const Expr inside = turned == size ? d : ir::min(d, Expr(turned - 1));
    const Expr pair = interleaved ? ir::floor_div(inside, Expr(2)) : ir::mod(inside, Expr(half));
    const Expr first = interleaved ? pair * Expr(2) : pair,
               second = interleaved ? pair * Expr(2) + Expr(1) : pair + Expr(half);
    const Expr is_second = interleaved ? ir::mod(inside, Expr(2)) == Expr(1) : inside >= Expr(half);
    const auto angle = [&](const Tensor& table) {
      if (!node.has(3)) return table.at({index[0], place, pair});
      const Expr position = ir::cast(node.input(3).at({index[0], place}), ir::DType::I64);
      return table.at({ir::min(ir::max(position, 0), Expr(table.shape()[0] - 1)), pair});
    };
    const Expr a = element(first), b = element(second), c = angle(cosines), s = angle(sines);
    const Expr value = ir::select(is_second, s * a + c * b, c * a - s * b);
    return ir::Definition(turned == size ? value : ir::select(d < Expr(turned), value, in.at(index)));
  })};
}

}  // namespace temper::ops
