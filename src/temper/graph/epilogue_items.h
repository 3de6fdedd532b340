// Elementwise nodes → items of an epilogue.
#pragma once

#include <optional>

#include "temper/graph/fusion.h"

namespace temper::graph {

struct MatchedItem {
  ops::EpilogueItem item;
  ValueId operand = kAbsent;  ///< the value that the item reads, if it reads one
};

/// The item that `node` applies to its input `running`, an output of the anchor; empty when there is none.
std::optional<MatchedItem> match_item(const Graph& graph, const Node& node, ValueId running, const Anchor& anchor);

}  // namespace temper::graph
