// ConvTranspose, here with two spatial axes: out[n,oc,y,x] = Σ_{ic,kh,kw} in[n,ic,(y + pad - kh·dilation)/stride, …] ·
// w[ic,oc,kh,kw] over the taps whose position is a multiple of the stride and inside the input (ONNX ConvTranspose).
//
// Without dilation the taps that meet an output position are every stride-th one: with t = y + pad, kh = t mod stride +
// stride·tap and the input position is floor(t / stride) - tap, so that no term is left out between them.
#pragma once

#include <string>
#include <vector>

#include "temper/ops/window.h"

namespace temper::ops {

/// Two spatial axes with their sizes, for SPEC strings and workloads.
struct ConvTranspose2dShape {
  std::int64_t n = 1, ic = 1, oc = 1, groups = 1;
  WindowAxis y, x;  ///< `input`, `kernel`, `stride`, pads; `output` is set by `conv_transpose2d_shape`
  std::int64_t extra_y = 0, extra_x = 0;  ///< positions behind the last one (output_padding)
  Layout layout = Layout::Nchw;
  ir::DType dtype = ir::DType::F32;
  std::vector<std::int64_t> input_shape() const { return PixelLayout(layout).arrange(n, ic, y.input, x.input); }
  std::vector<std::int64_t> weight_shape() const { return {ic, oc / groups, y.kernel, x.kernel}; }
};
/// Checks the sizes and computes the outputs. Throws Error{InvalidArgument} that names what does not fit.
ConvTranspose2dShape conv_transpose2d_shape(ConvTranspose2dShape shape);
/// Stage `name` over (n,oc,y,x), or (n,y,x,oc) in NHWC; reduce axes ic, kh, kw (the taps of one position).
ir::Tensor conv_transpose2d(const ConvTranspose2dShape& shape, const ir::Tensor& in, const ir::Tensor& weight,
                            const std::string& name);

/// The spatial axes: `output` is the whole result's size, `pad_begin` what is cut off before it. Reads strides,
/// dilations, pads, output_padding, output_shape and auto_pad. Throws as `window_axes`.
std::vector<WindowAxis> transposed_window_axes(const Node& node, const std::vector<std::int64_t>& input_shape,
                                               const std::vector<std::int64_t>& weight_shape);

/// Weights [ic, oc/groups, kernel]; the bias in an elementwise stage behind the sum.
std::vector<ir::Tensor> build_conv_transpose(const Node& node);

}  // namespace temper::ops
