// A workload: one operator with fixed sizes, as a task names it. SPEC strings and graph tasks build the same ones, so
// that what was tuned by `--op` serves a model too.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "temper/ops/attention.h"
#include "temper/ops/conv2d.h"
#include "temper/ops/conv_transpose.h"
#include "temper/ops/epilogue.h"
#include "temper/ops/layernorm.h"

namespace temper::ops {

/// Another definition of the same function: same inputs and outputs by name and shape.
struct Alternative {
  std::string algorithm;
  ir::Compute compute;
};

struct Workload {
  std::string op;  ///< "matmul", "conv2d", "conv_transpose2d", "softmax", "layernorm", "attention"
  std::vector<std::pair<std::string, std::string>> fields;  ///< canonical: every field, in a fixed order
  ir::Compute compute;                                      ///< verified; the reference definition
  std::vector<Alternative> alternatives;
  double flops = 0;      ///< as the field counts: 2·m·n·k for a product, plus the epilogue
  double tolerance = 0;  ///< c of `ops::tolerance_factor`
  /// "op(name=value,...)": equal text, same work.
  std::string text() const;
};

struct MatmulShape {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool trans_a = false, trans_b = false;
  ir::DType dtype = ir::DType::F32;
};

/// Which inputs are known before the first run.
enum class Constness : std::uint8_t {
  Weights,  ///< B of a product, filters, scales and biases
  None,
};

// Inputs by name: A, B and the epilogue's operands (epilogue.h). With batch = 1 the operands are matrices. The product
// is the stage "matmul"; with an epilogue the output is "out". Channel operands follow n.
Workload matmul_workload(const MatmulShape& shape, const Epilogue& epilogue = {},
                         Constness constness = Constness::Weights);
// Inputs: in, weight and the epilogue's operands. Stages "conv", "out". The alternatives "winograd2" and "winograd4"
// are `minimal_filtering_conv2d`, where weights are constant and fewer multiplications may pay. A pointwise convolution
// in NCHW is defined over [n,c,1,h*w], whose elements lie where those of [n,c,h,w] do; its fields say h and w. Throws
// as `conv2d_shape`.
Workload conv2d_workload(const Conv2dShape& shape, const Epilogue& epilogue = {},
                         Constness constness = Constness::Weights);
// Inputs: in, weight[ic,oc/groups,kh,kw] and the epilogue's operands. Stages "conv", "out". Throws as
// `conv_transpose2d_shape`.
Workload conv_transpose2d_workload(const ConvTranspose2dShape& shape, const Epilogue& epilogue = {},
                                   Constness constness = Constness::Weights);
// Input in[rows,cols]; output "out".
Workload softmax_workload(std::int64_t rows, std::int64_t cols, ir::DType dtype = ir::DType::F32);
// Inputs in[rows,cols], scale[cols], bias[cols]; output "out". The alternative "one_pass" reads the input once.
Workload layernorm_workload(std::int64_t rows, std::int64_t cols, double epsilon = 1e-5,
                            ir::DType dtype = ir::DType::F32, Constness constness = Constness::Weights);
// Inputs Q, K, V and, where the shape has one, mask (see AttentionShape); output "out". Throws as `attention`.
Workload attention_workload(const AttentionShape& shape);

}  // namespace temper::ops
