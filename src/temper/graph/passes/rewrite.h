// Operators that are another one in other words: replaced as soon as their inputs' types are known, so that nothing
// behind the import has to know them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "temper/graph/graph.h"

namespace temper::graph {

struct Rewrite {
  std::string_view op;
  std::string_view summary;  ///< what it becomes
  /// Changes the node, and adds nodes that come before it.
  void (*apply)(Graph& graph, Node& node, std::vector<Node>& before);
};
/// Sorted by operator.
std::span<const Rewrite> rewrites();
/// Whether the importer may take an operator that `ops` does not know.
bool is_rewritten(std::string_view op);

/// Whether a node lies in the branches that are taken; takes its conditions off its inputs. Throws Error{Unsupported}
/// when a condition is not known.
bool is_taken(const Graph& graph, Node& node);

/// Replaces `node` by what it means; the types of its inputs must be known. Nodes that it needs before it go to
/// `before`, in order; their outputs have no types yet. Leaves every other node alone. Throws
/// Error{InvalidModel, Unsupported}.
void rewrite(Graph& graph, Node& node, std::vector<Node>& before);

/// A node of operator set 6 as one of 7: broadcasting that attributes describe becomes that of numpy. Leaves newer
/// ones, and operators that did not change, alone.
void upgrade_opset6(Graph& graph, Node& node, std::vector<Node>& before);

/// A slice and a border.
void rewrite_center_crop_pad(Graph& graph, Node& node, std::vector<Node>& before);
/// A product of the places of all pixels with the map.
void rewrite_affine_grid(Graph& graph, Node& node, std::vector<Node>& before);
/// Its mask is a constant in inference, and a ratio of 0 drops nothing.
void rewrite_dropout(Graph& graph, Node& node, std::vector<Node>& before);
/// Resize in a mode that no definition covers (cubic, antialiased, cropped, ...): a product with a matrix of weights
/// for each axis, or a gather for each axis.
void rewrite_resize(Graph& graph, Node& node, std::vector<Node>& before);

}  // namespace temper::graph
