// Attention over heads, and the rotation of queries and keys by their position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Sizes of attention without earlier keys. Groups of `heads / key_heads` neighbouring query heads share a key head.
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, depth = 1, value_depth = 1;
  double scale = 1;
  /// Tensors are [batch, length, heads, size] instead of [batch, heads, length, size].
  bool heads_inside = false;
  /// Of what is added to the scores: each size that of [batch, heads, queries, keys], or 1. Empty: no mask.
  std::vector<std::int64_t> mask = {};
  ir::DType dtype = ir::DType::F32;

  std::vector<std::int64_t> query_shape() const;
  std::vector<std::int64_t> key_shape() const;
  std::vector<std::int64_t> value_shape() const;
  std::vector<std::int64_t> output_shape() const;
};

/// softmax((scale · Q)·Kᵀ + mask)·V of each head; the division by a row's sum comes after the product with V. Stages:
/// name_queries (scaled: as many products as Q has elements, not as the scores have), name_product, name_scores, the
/// parts of softmax as name_weights_*, name_values, name. `mask` is read where the shape has one. Throws
/// Error{InvalidArgument} when the heads do not divide or the mask does not fit.
ir::Tensor attention(const AttentionShape& shape, const ir::Tensor& q, const ir::Tensor& k, const ir::Tensor& v,
                     const ir::Tensor& mask, const std::string& name);

/// softmax(scale · Q·Kᵀ, softcapped, + mask)·V of each head. Q, K and V are [batch, heads, length, size] or, with the
/// numbers of heads as attributes, [batch, length, heads·size]; groups of query heads may share a key head. Earlier
/// keys and values go before the new ones. Outputs: the result, all keys, all values, and the scores at a chosen stage.
std::vector<ir::Tensor> build_attention(const Node& node);

/// Pairs of elements turned by the angle of their position: RotaryEmbedding.
std::vector<ir::Tensor> build_rotary_embedding(const Node& node);

}  // namespace temper::ops
