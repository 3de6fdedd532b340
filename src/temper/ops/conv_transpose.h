// ConvTranspose, here with two spatial axes: out[n,oc,y,x] = Σ_{ic,kh,kw} in[n,ic,(y + pad - kh·dilation)/stride, …] ·
// w[ic,oc,kh,kw] over the taps whose position is a multiple of the stride and inside the input (ONNX ConvTranspose).
#pragma once

#include <vector>

#include "temper/ops/window.h"

namespace temper::ops {

/// The spatial axes: `output` is the whole result's size, `pad_begin` what is cut off before it. Reads strides,
/// dilations, pads, output_padding, output_shape and auto_pad. Throws as `window_axes`.
std::vector<WindowAxis> transposed_window_axes(const Node& node, const std::vector<std::int64_t>& input_shape,
                                               const std::vector<std::int64_t>& weight_shape);

/// Weights [ic, oc/groups, kernel]; the bias in an elementwise stage behind the sum.
std::vector<ir::Tensor> build_conv_transpose(const Node& node);

}  // namespace temper::ops
