// GRU and RNN: recurrences over time, unrolled as LSTM's (`lstm.h`), with its limit on the number of steps.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Gates update, reset and hidden: h' = (1 - z)·tanh(x·W + (r·h)·R) + z·h, or with the reset behind the product.
std::vector<ir::Tensor> build_gru(const Node& node);
/// h' = f(x·W + h·R) with f one of Tanh, Relu and Sigmoid.
std::vector<ir::Tensor> build_rnn(const Node& node);

}  // namespace temper::ops
