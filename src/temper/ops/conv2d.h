// Conv2d: out[n,oc,y,x] = Σ_{ic,kh,kw} in[n, group(oc) + ic, y·stride + kh·dilation - pad, …] · w[oc,ic,kh,kw]   (ONNX
// Conv, 2-D) Terms that fall outside the input do not exist (a predicate, not a zero).
#pragma once

#include <string>
#include <vector>

#include "temper/ops/window.h"

namespace temper::ops {

struct Conv2dShape {
  std::int64_t n = 1, ic = 1, oc = 1, groups = 1;
  WindowAxis y, x;  ///< `input`, `kernel`, `stride`, `dilation`, pads; `output` is set by `conv2d_shape`
  Layout layout = Layout::Nchw;
  std::int64_t channel_block = 0;  ///< above 0: activations [n, c/b, y, x, b], filters [oc/b, ic/b, kh, kw, b, b]
  ir::DType dtype = ir::DType::F32;
  std::vector<std::int64_t> input_shape() const;
  std::vector<std::int64_t> weight_shape() const;
  std::string layout_text() const;  ///< "nchw", "nhwc", or "nchw16c" for blocks of 16
};
/// Checks the sizes and computes the outputs. Blocks need one group and whole blocks of channels. Throws
/// Error{InvalidArgument} that names what does not fit.
Conv2dShape conv2d_shape(Conv2dShape shape);

/// Stage `name` over (n,oc,y,x), or (n,y,x,oc) in NHWC; reduce axes ic, kh, kw (no ic where each group has one
/// channel).
ir::Tensor conv2d(const Conv2dShape& shape, const ir::Tensor& in, const ir::Tensor& weight, const std::string& name);

/// Stage `name` over (n, oc/b, y, x, b) for activations and filters in blocks of channels; reduce axes icb, ici, kh,
/// kw.
ir::Tensor conv2d_blocked(const Conv2dShape& shape, const ir::Tensor& in, const ir::Tensor& weight,
                          const std::string& name);

/// ONNX Conv with one to three spatial axes, the bias in an elementwise stage behind it.
std::vector<ir::Tensor> build_conv(const Node& node);

}  // namespace temper::ops
