// What is asked of a node before a layout is given to it, whichever layout that is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "temper/graph/graph.h"

namespace temper::graph {

/// Up to this many channels a convolution reads an NCHW input directly, where its output has another layout.
inline constexpr std::int64_t kFewChannels = 8;

/// Convolutions and pooling of an input of rank 4, of which chains are made; the rest follows them.
bool is_windowed(const Node& node);
bool is_elementwise(const Node& node);
bool is_reduction(const Node& node);

/// The constant of an input, which must have integers; none where it is absent or computed.
std::optional<std::vector<std::int64_t>> constant_integers(const Graph& graph, const Node& node, std::size_t input);
/// The axes of a reduction, as given; none where there are none or they are computed.
std::optional<std::vector<std::int64_t>> constant_axes(const Graph& graph, const Node& node);
/// Puts them where the reduction has its axes.
void set_axes(Graph& graph, Node& node, const std::vector<std::int64_t>& axes);
/// The axes of a Slice whose starts are constant, counted from the front for rank 4; none where they are computed or
/// the operator set has no inputs for them.
std::optional<std::vector<std::int64_t>> slice_axes(const Graph& graph, const Node& node);

}  // namespace temper::graph
