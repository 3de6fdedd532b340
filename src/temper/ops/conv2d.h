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
  bool plain_input = false;  ///< in a layout of blocks: the input has none and is [n, ic, y, x]
  ir::DType dtype = ir::DType::F32;
  std::vector<std::int64_t> input_shape() const;
  std::vector<std::int64_t> weight_shape() const;
  ChannelAxes channel_axes() const;                             ///< of the output
  bool is_depthwise() const { return groups == ic && ic > 1; }  ///< a group for each input channel
};
/// Checks the sizes and computes the outputs. Blocks need whole blocks of channels, in one group, in groups of whole
/// blocks, or with a group for each input and output channel. Throws Error{InvalidArgument} that names what does not
/// fit.
Conv2dShape conv2d_shape(Conv2dShape shape);

/// Stage `name` over (n,oc,y,x), or (n,y,x,oc) in NHWC; reduce axes ic, kh, kw (no ic where each group has one
/// channel).
ir::Tensor conv2d(const Conv2dShape& shape, const ir::Tensor& in, const ir::Tensor& weight, const std::string& name);

/// Stage `name` over (n, oc/b, y, x, b) for activations in blocks of b channels. Reduce axes and weights:
///   icb, ici, kh, kw   weight[oc/b, ic/groups/b, kh, kw, b, b], a block's input channels before its output channels
///   ic, kh, kw         weight[oc/b, ic, kh, kw, b], where the input is [n, ic, y, x]
///   kh, kw             weight[oc/b, kh, kw, b], with a group for each channel
ir::Tensor conv2d_blocked(const Conv2dShape& shape, const ir::Tensor& in, const ir::Tensor& weight,
                          const std::string& name);

/// The shape of a Conv in a layout of blocks, whose weights are those of `conv2d_blocked`; an input of rank 4 has no
/// blocks. Throws what `window_axes` throws, and Error{InvalidModel} for sizes that contradict each other.
Conv2dShape blocked_conv2d_shape(const Node& node);

/// ONNX Conv with one to three spatial axes, the bias in an elementwise stage behind it; [oc/b, b] in blocks.
std::vector<ir::Tensor> build_conv(const Node& node);

}  // namespace temper::ops
