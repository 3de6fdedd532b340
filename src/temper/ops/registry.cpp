#include "temper/ops/registry.h"

#include <algorithm>

#include "temper/ops/attention.h"
#include "temper/ops/batchnorm.h"
#include "temper/ops/concat.h"
#include "temper/ops/conv2d.h"
#include "temper/ops/conv_transpose.h"
#include "temper/ops/elementwise.h"
#include "temper/ops/expand.h"
#include "temper/ops/gather.h"
#include "temper/ops/gemm.h"
#include "temper/ops/generated_values.h"
#include "temper/ops/grid_sample.h"
#include "temper/ops/layernorm.h"
#include "temper/ops/losses.h"
#include "temper/ops/lstm.h"
#include "temper/ops/matmul.h"
#include "temper/ops/normalisation.h"
#include "temper/ops/ordered.h"
#include "temper/ops/pad.h"
#include "temper/ops/pixel_shuffle.h"
#include "temper/ops/pool.h"
#include "temper/ops/quantisation.h"
#include "temper/ops/recurrent.h"
#include "temper/ops/reduce.h"
#include "temper/ops/reshape.h"
#include "temper/ops/resize.h"
#include "temper/ops/scatter.h"
#include "temper/ops/slice.h"
#include "temper/ops/softmax.h"
#include "temper/ops/transpose.h"
#include "temper/support/error.h"

namespace temper::ops {
namespace {

using enum OperatorClass;

// name, class, summary, inputs from..to, first opset, builder. Elementwise operators have their own table in
// elementwise.cpp.
constexpr Operator kOperators[] = {
    {"ArgMax", Reduction, "index of the largest element along an axis", 1, 1, 1, build_arg_reduce},
    {"ArgMin", Reduction, "index of the smallest element along an axis", 1, 1, 1, build_arg_reduce},
    {"Attention", Contraction, "softmax of scaled, masked products of queries and keys, times values", 3, 7, 23,
     build_attention},
    {"AveragePool", Reduction, "mean over sliding windows", 1, 1, 7, build_average_pool},
    {"BatchNormalization", Elementwise, "normalisation with given mean and variance", 5, 5, 7, build_batchnorm},
    {"Compress", Movement, "slices for which a known condition holds", 2, 2, 9, build_compress},
    {"Concat", Movement, "tensors side by side", 1, -1, 4, build_concat},
    {"Conv", Contraction, "convolution", 2, 3, 1, build_conv},
    {"ConvInteger", Contraction, "convolution of integers less their zero points, in int32", 2, 4, 10,
     build_conv_integer},
    {"ConvTranspose", Contraction, "transposed convolution", 2, 3, 1, build_conv_transpose},
    {"CumSum", Reduction, "sum of the elements up to each one", 2, 2, 11, build_cumulative_sum},
    {"DepthToSpace", Movement, "blocks of channels as blocks of pixels", 1, 1, 1, build_depth_to_space},
    {"DequantizeLinear", Movement, "(x - zero point) * scale", 2, 3, 10, build_dequantize_linear},
    {"Dropout", View, "the input (inference)", 1, 3, 6, build_identity},
    {"DynamicQuantizeLinear", Reduction, "uint8 by the tensor's own range", 1, 1, 11, build_dynamic_quantize_linear},
    {"Expand", Movement, "broadcast to a shape", 2, 2, 8, build_expand},
    {"Flatten", View, "as a matrix", 1, 1, 1, build_flatten},
    {"GRU", Reduction, "gated recurrent units", 3, 6, 7, build_gru},
    {"Gather", Movement, "elements at given indices of an axis", 2, 2, 1, build_gather},
    {"GatherElements", Movement, "elements at given indices, one for each", 2, 2, 11, build_gather_elements},
    {"GatherND", Movement, "slices at given places", 2, 2, 11, build_gather_nd},
    {"Gemm", Contraction, "alpha*A*B + beta*C", 2, 3, 7, build_gemm},
    {"GlobalAveragePool", Reduction, "mean over all pixels", 1, 1, 1, build_global_average_pool},
    {"GlobalMaxPool", Reduction, "maximum over all pixels", 1, 1, 1, build_global_max_pool},
    {"GridSample", Movement, "the input at places that a grid names", 2, 2, 16, build_grid_sample},
    {"GroupNormalization", Reduction, "normalisation of groups of channels", 3, 3, 18, build_group_normalization},
    {"Hardmax", Reduction, "1 at the first largest element", 1, 1, 1, build_hardmax},
    {"Identity", View, "the input", 1, 1, 1, build_identity},
    {"InstanceNormalization", Reduction, "normalisation of each image and channel", 3, 3, 6,
     build_instance_normalization},
    {"LRN", Reduction, "division by the strength of nearby channels", 1, 1, 1, build_lrn},
    {"LSTM", Reduction, "long short-term memory", 3, 8, 7, build_lstm},
    {"LayerNormalization", Reduction, "normalisation over trailing axes", 2, 3, 17, build_layernorm},
    {"LogSoftmax", Reduction, "logarithm of softmax", 1, 1, 1, build_log_softmax},
    {"LpNormalization", Reduction, "division by the length along an axis", 1, 1, 1, build_lp_normalization},
    {"LpPool", Reduction, "p-norm over sliding windows", 1, 1, 2, build_lp_pool},
    {"MatMul", Contraction, "matrix product with batch broadcasting", 2, 2, 1, build_matmul},
    {"MatMulInteger", Contraction, "product of integers less their zero points, in int32", 2, 4, 10,
     build_matmul_integer},
    {"MaxPool", Reduction, "maximum over sliding windows", 1, 1, 1, build_max_pool},
    {"MeanVarianceNormalization", Reduction, "mean 0 and variance 1 over axes", 1, 1, 9,
     build_mean_variance_normalization},
    {"NegativeLogLikelihoodLoss", Reduction, "weighted loss of log-probabilities", 2, 3, 12, build_nll_loss},
    {"OneHot", Movement, "a new axis with one value at the index", 3, 3, 9, build_one_hot},
    {"Pad", Movement, "a border around a tensor", 1, 4, 2, build_pad},
    {"QLinearConv", Contraction, "convolution of quantised tensors", 8, 9, 10, build_qlinear_conv},
    {"QLinearMatMul", Contraction, "product of quantised tensors", 8, 8, 10, build_qlinear_matmul},
    {"QuantizeLinear", Movement, "rounded x / scale + zero point", 2, 3, 10, build_quantize_linear},
    {"RMSNormalization", Reduction, "division by the root of the mean square", 2, 2, 23, build_rms_normalization},
    {"RNN", Reduction, "a recurrence of one gate", 3, 6, 7, build_rnn},
    {"ReduceL1", Reduction, "sum of magnitudes", 1, 2, 1, build_reduce},
    {"ReduceL2", Reduction, "root of the sum of squares", 1, 2, 1, build_reduce},
    {"ReduceLogSum", Reduction, "logarithm of the sum", 1, 2, 1, build_reduce},
    {"ReduceLogSumExp", Reduction, "logarithm of the sum of exponentials", 1, 2, 1, build_reduce},
    {"ReduceMax", Reduction, "largest element", 1, 2, 1, build_reduce},
    {"ReduceMean", Reduction, "mean", 1, 2, 1, build_reduce},
    {"ReduceMin", Reduction, "smallest element", 1, 2, 1, build_reduce},
    {"ReduceProd", Reduction, "product", 1, 2, 1, build_reduce},
    {"ReduceSum", Reduction, "sum", 1, 2, 1, build_reduce},
    {"ReduceSumSquare", Reduction, "sum of squares", 1, 2, 1, build_reduce},
    {"Reshape", View, "another shape", 1, 2, 1, build_reshape},
    {"Resize", Movement, "nearest or linear interpolation", 1, 4, 10, build_resize},
    {"ReverseSequence", Movement, "the beginning of each sequence reversed", 2, 2, 10, build_reverse_sequence},
    {"RotaryEmbedding", Movement, "pairs turned by the angle of their position", 3, 4, 23, build_rotary_embedding},
    {"Scatter", Movement, "ScatterElements by its old name", 3, 3, 9, build_scatter_elements},
    {"ScatterElements", Movement, "elements put at given indices", 3, 3, 11, build_scatter_elements},
    {"ScatterND", Movement, "slices put at given places", 3, 3, 11, build_scatter_nd},
    {"Slice", Movement, "a part of a tensor", 1, 5, 1, build_slice},
    {"Softmax", Reduction, "exponentials that add up to 1", 1, 1, 1, build_softmax},
    {"SoftmaxCrossEntropyLoss", Reduction, "weighted loss of scores", 2, 3, 12, build_softmax_cross_entropy},
    {"SpaceToDepth", Movement, "blocks of pixels as channels", 1, 1, 1, build_space_to_depth},
    {"Split", Movement, "parts of a tensor", 1, 2, 2, build_split},
    {"Squeeze", View, "without axes of size 1", 1, 2, 1, build_squeeze},
    {"TensorScatter", Movement, "entries put into a cache", 2, 3, 24, build_tensor_scatter},
    {"Tile", Movement, "a tensor repeated", 2, 2, 6, build_tile},
    {"TopK", Reduction, "the largest or smallest elements and their indices", 1, 2, 1, build_top_k},
    {"Transpose", Movement, "axes in another order", 1, 1, 1, build_transpose},
    {"Trilu", Movement, "a triangle of matrices", 1, 2, 14, build_trilu},
    {"Unsqueeze", View, "with additional axes of size 1", 1, 2, 1, build_unsqueeze},
    {"Upsample", Movement, "nearest or linear interpolation", 1, 2, 7, build_resize},
};

std::vector<Operator> sorted_table() {
  std::vector<Operator> all(std::begin(kOperators), std::end(kOperators));
  const auto elementwise = elementwise_operators();
  all.insert(all.end(), elementwise.begin(), elementwise.end());
  std::sort(all.begin(), all.end(), [](const Operator& a, const Operator& b) { return a.name < b.name; });
  return all;
}

}  // namespace

std::span<const Operator> operators() {
  static const std::vector<Operator> table = sorted_table();
  return table;
}

const Operator* find_operator(std::string_view name) {
  const auto table = operators();
  const auto found = std::lower_bound(table.begin(), table.end(), name,
                                      [](const Operator& o, std::string_view n) { return o.name < n; });
  return found != table.end() && found->name == name ? &*found : nullptr;
}

std::vector<ir::Tensor> build(const Node& node) {
  const Operator* op = find_operator(node.op);
  if (op == nullptr) unsupported(node, "operator '" + node.op + "' is not supported");
  if (node.opset < op->first_opset) {
    unsupported(node,
                "opset " + std::to_string(node.opset) + " is too old; its first supported one is " +
                    std::to_string(op->first_opset),
                "convert the model to a newer opset");
  }
  const auto count = static_cast<int>(node.inputs.size());
  if (count < op->min_inputs || (op->max_inputs >= 0 && count > op->max_inputs)) {
    invalid(node, "it has " + std::to_string(count) + " inputs");
  }
  for (int i = 0; i < op->min_inputs; ++i) node.input(static_cast<std::size_t>(i));
  try {
    std::vector<ir::Tensor> outputs = op->build(node);
    if (static_cast<int>(outputs.size()) < node.outputs)
      unsupported(node, "it has only " + std::to_string(outputs.size()) + " outputs");
    return outputs;
  } catch (const Error& error) {
    // What an expression or a shape refuses is a fault of the model, and its place is this operator.
    if (error.code() == ErrorCode::InvalidArgument)
      throw Error(ErrorCode::InvalidModel, error.message(), node.op, error.hint());
    if (error.where().empty()) throw Error(error.code(), error.message(), node.op, error.hint());
    throw;
  }
}

std::vector<TensorType> infer(const Node& node) {
  std::vector<TensorType> types;
  for (const ir::Tensor& tensor : build(node)) types.push_back(type_of(tensor));
  return types;
}

}  // namespace temper::ops
