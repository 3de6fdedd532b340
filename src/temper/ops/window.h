// Sliding windows over the two spatial axes: what convolution and pooling share.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// One spatial axis of a sliding window.
struct WindowAxis {
  std::int64_t input = 1, kernel = 1, stride = 1, dilation = 1;
  std::int64_t pad_begin = 0, pad_end = 0;
  std::int64_t output = 0;

  /// Input position of a tap; may lie outside [0, input).
  ir::Expr position(const ir::Expr& out, const ir::Expr& tap) const {
    return out * stride + tap * dilation - pad_begin;
  }
  /// The parts of 0 <= position < input that can fail; both empty without padding.
  std::vector<ir::Expr> conditions(const ir::Expr& position) const;
  /// Number of output positions: rounded down, or up (`ceil_mode`), where a last window must start inside input or left
  /// pad.
  void set_output(bool ceil_mode);
  std::int64_t span() const { return (kernel - 1) * dilation + 1; }
};

/// Sizes of a window operator from the attributes kernel_shape, strides, pads, dilations, auto_pad and ceil_mode, for
/// an input laid out as the node says. Throws Error{Unsupported} unless the input has rank 4, Error{InvalidModel} for
/// sizes that do not fit.
std::array<WindowAxis, 2> window_axes(const Node& node, const std::vector<std::int64_t>& input_shape,
                                      std::optional<std::array<std::int64_t, 2>> kernel = std::nullopt);

/// Places n, channel and the two pixel axes of 4-D activations.
struct PixelLayout {
  std::size_t channel, y, x;
  explicit PixelLayout(Layout layout)
      : channel(layout == Layout::Nchw ? 1 : 3), y(layout == Layout::Nchw ? 2 : 1), x(y + 1) {}
  template <class T>
  std::vector<T> arrange(T n, T c, T row, T column) const {
    if (channel == 1) return {std::move(n), std::move(c), std::move(row), std::move(column)};
    return {std::move(n), std::move(row), std::move(column), std::move(c)};
  }
};

}  // namespace temper::ops
