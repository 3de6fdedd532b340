// Attention over heads, and the rotation of queries and keys by their position.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// softmax(scale · Q·Kᵀ, softcapped, + mask)·V of each head. Q, K and V are [batch, heads, length, size] or, with the
/// numbers of heads as attributes, [batch, length, heads·size]; groups of query heads may share a key head. Earlier
/// keys and values go before the new ones. Outputs: the result, all keys, all values, and the scores at a chosen stage.
std::vector<ir::Tensor> build_attention(const Node& node);

/// Pairs of elements turned by the angle of their position: RotaryEmbedding.
std::vector<ir::Tensor> build_rotary_embedding(const Node& node);

}  // namespace temper::ops
