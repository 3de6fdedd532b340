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
  ir::DType dtype = ir::DType::F32;
  std::vector<std::int64_t> input_shape() const;
  std::vector<std::int64_t> weight_shape() const { return {oc, ic / groups, y.kernel, x.kernel}; }
};
/// Checks the sizes and computes the outputs. Throws Error{InvalidArgument} that names what does not fit.
Conv2dShape conv2d_shape(Conv2dShape shape);

/// Stage `name` over (n,oc,y,x), or (n,y,x,oc) in NHWC; reduce axes ic, kh, kw (no ic where each group has one
/// channel).
ir::Tensor conv2d(const Conv2dShape& shape, const ir::Tensor& in, const ir::Tensor& weight, const std::string& name);

/// ONNX Conv with one to three spatial axes, the bias in an elementwise stage behind it.
std::vector<ir::Tensor> build_conv(const Node& node);

}  // namespace temper::ops
