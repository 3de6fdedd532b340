// Sliding windows over the spatial axes: what convolution and pooling share.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  /// Each output position is the input position: neither taps, strides nor padding.
  bool is_pointwise() const { return kernel == 1 && stride == 1 && pad_begin == 0 && pad_end == 0; }
  std::int64_t span() const { return (kernel - 1) * dilation + 1; }
};

/// Sizes of a window operator from the attributes kernel_shape, strides, pads, dilations, auto_pad and ceil_mode, for
/// an input laid out as the node says: one entry for each spatial axis. Throws Error{Unsupported} unless the input has
/// 1 to 3 of them, Error{InvalidModel} for sizes that do not fit.
std::vector<WindowAxis> window_axes(const Node& node, const std::vector<std::int64_t>& input_shape,
                                    std::optional<std::vector<std::int64_t>> kernel = std::nullopt);

/// A window at one output position: reduce axes over its taps (the last ones of kd, kh, kw), and the input positions
/// that they name.
struct WindowTaps {
  std::vector<ir::Axis> axes;
  std::vector<ir::Expr> places;
};
/// `out`: the output's spatial axes.
WindowTaps window_taps(const std::vector<WindowAxis>& window, std::span<const ir::Axis> out);
/// The reduce axis over the taps of spatial axis `i`.
ir::Axis tap_axis(const std::vector<WindowAxis>& window, std::size_t i);
/// `definition` over the taps whose places are inside the input.
ir::Definition inside(ir::Definition definition, const std::vector<WindowAxis>& window,
                      const std::vector<ir::Expr>& places);

/// Reads an attribute of `count` integers, each `if_absent` when it is not there. Throws Error{InvalidModel} for
/// another number of them.
std::vector<std::int64_t> integers_per_axis(const Node& node, std::string_view name, std::size_t count,
                                            std::int64_t if_absent);

/// Axes that tell the channels of a tensor apart: one, or two where they are stored in blocks.
using ChannelAxes = std::vector<std::size_t>;

/// Places n, channel and the spatial axes of activations of any rank. NHWC is known for rank 4 alone, blocks of
/// channels for rank 5; other ranks are channels first.
struct SpatialLayout {
  std::size_t rank, channel, first;  ///< `first`: the first spatial axis; the others follow it
  bool blocks;                       ///< `channel` counts blocks, and the last axis the channels of one
  SpatialLayout(Layout layout, std::size_t tensor_rank)
      : rank(tensor_rank),
        channel(layout == Layout::Nhwc && tensor_rank == 4 ? 3 : 1),
        first(channel == 1 ? 2 : 1),
        blocks(channel_block(layout) > 0 && tensor_rank == 5) {}
  std::size_t spatial() const { return rank - (blocks ? 3 : 2); }
  ChannelAxes channels() const { return blocks ? ChannelAxes{channel, rank - 1} : ChannelAxes{channel}; }
  /// An index of the same image and channel at other places.
  template <class T>
  std::vector<T> moved(std::vector<T> index, const std::vector<T>& places) const {
    std::copy(places.begin(), places.end(), index.begin() + static_cast<std::ptrdiff_t>(first));
    return index;
  }
  /// Without blocks.
  template <class T>
  std::vector<T> arrange(T n, T c, std::vector<T> places) const {
    places.insert(places.begin(), std::move(n));
    places.insert(places.begin() + static_cast<std::ptrdiff_t>(channel), std::move(c));
    return places;
  }
  /// "n", "c", and x, y x, or z y x; with blocks "n", "cb", y x, "ci".
  std::vector<std::string> names(const std::string& channel_name) const;
};

/// Places n, channel and the two pixel axes of 4-D activations, which have no blocks.
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
