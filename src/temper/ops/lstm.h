// LSTM (Hochreiter and Schmidhuber 1997; ONNX LSTM): i, o, f = sigmoid(…), g = tanh(x·Wᵀ + h·Rᵀ + b), c = f·c + i·g,
// h = o·tanh(c), for a given number of steps, forward, backward or both.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Steps of one node that are written out, each as stages of its own.
inline constexpr std::int64_t kMaxLstmSteps = 64;

/// Outputs Y, Y_h, Y_c. Throws Error{Unsupported} for other activations, clipping, coupled gates, sequences of
/// different lengths and more than kMaxLstmSteps steps; Error{InvalidModel} for shapes that do not fit.
std::vector<ir::Tensor> build_lstm(const Node& node);

}  // namespace temper::ops
