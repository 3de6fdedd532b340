// Softmax: out = exp(x - max) / Σ exp(x - max) over the normalised axes; LogSoftmax: out = x - max - log(Σ exp(x -
// max)). Stages: name_max, name_exp, name_sum, name_scale (the reciprocal of the sum), name. Subtracting the maximum
// first keeps exp from overflowing (Blanchard, Higham and Higham, "Accurately computing the log-sum-exp and softmax
// functions", IMA J. Numer. Anal. 2021).
#pragma once

#include <string>
#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Softmax before it is put together: out = exponential · scale of its row.
struct SoftmaxParts {
  ir::Tensor exponential;  ///< name_exp, in the shape of the input
  ir::Tensor scale;        ///< name_scale, over the axes that are not normalised
};
SoftmaxParts softmax_parts(const ir::Tensor& in, const std::vector<std::int64_t>& axes, const std::string& name);

ir::Tensor softmax(const ir::Tensor& in, const std::vector<std::int64_t>& axes, const std::string& name);
ir::Tensor log_softmax(const ir::Tensor& in, const std::vector<std::int64_t>& axes, const std::string& name);

/// ONNX: from opset 13 on one axis (default -1); before, every axis from `axis` (default 1) on, together.
std::vector<ir::Tensor> build_softmax(const Node& node);
std::vector<ir::Tensor> build_log_softmax(const Node& node);

}  // namespace temper::ops
