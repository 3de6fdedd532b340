// Epilogues: an elementwise chain behind an anchor (a matmul, a convolution), given as a list of named items. SPEC
// strings
// (`epilogue=bias+relu`), task keys and graph fusion share this list, so equal work has an equal name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/ops/window.h"

namespace temper::ops {

/// Which extra input an item reads.
enum class EpilogueOperand : std::uint8_t {
  None,
  Channel,  ///< one value per channel, [c] or, in blocks, [c/b,b]: constant unless said otherwise
  Image,    ///< one value per image and channel, [n,c], and [c] behind a matrix product: squeeze-excite
  Full,     ///< the shape of the output: residual add
  Blocks,   ///< one value per channel and block of pixels; the item's arguments are the block's height and width
};

struct EpilogueItem {
  std::string name;
  std::vector<double> arguments;  ///< as many as the item has, defaults filled in
  bool operator==(const EpilogueItem&) const = default;
};
using Epilogue = std::vector<EpilogueItem>;

/// One line of the table of items.
struct EpilogueKind {
  std::string_view name;
  EpilogueOperand operand;
  std::vector<double> defaults;  ///< of the arguments
  std::string_view summary;
  ir::Expr (*apply)(const ir::Expr& value, const ir::Expr& operand, std::span<const double> arguments);
};
std::span<const EpilogueKind> epilogue_kinds();
/// Throws Error{InvalidArgument} that lists the known names.
const EpilogueKind& epilogue_kind(std::string_view name);

/// "bias+clip:0:6+add": items joined by '+', arguments behind ':'. "" and "none" are empty. Throws
/// Error{InvalidArgument}.
Epilogue parse_epilogue(std::string_view text);
/// Inverse; arguments are left out where they are the defaults.
std::string to_string(const Epilogue& epilogue);

/// Placeholders for the items that read one, in order: "bias", "scale", "add", ...; a second item of a name gets a
/// number ("add1"). Channel operands are constant if `constants`. The anchor's `channel_axes` are those that Channel
/// operands have, [c] or [c/b,b]; its axis 0 is the image, but a matrix is all of one image; the axes that are left are
/// pixels.
/// Throws Error{InvalidArgument} for blocks that are not whole, Error{Unsupported} for blocks of an anchor without two
/// axes of pixels.
std::vector<ir::Tensor> epilogue_operands(const ir::Tensor& anchor, const Epilogue& epilogue,
                                          const ChannelAxes& channel_axes, bool constants);

/// One elementwise stage `name` that reads `anchor` and applies the items in order; `operands` as `epilogue_operands`
/// orders them (tensors of the same shapes). Returns `anchor` for an empty epilogue.
ir::Tensor append_epilogue(const ir::Tensor& anchor, const Epilogue& epilogue, const std::vector<ir::Tensor>& operands,
                           const ChannelAxes& channel_axes, const std::string& name);

}  // namespace temper::ops
