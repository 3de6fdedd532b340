// The valid choices of one design, as a layered decision diagram: exact counts, and a bijection between valid choices
// and the numbers 0..size-1, without listing the choices.
//
// Knobs are put in an order that keeps constraints short, and assigned one after another; a constraint is checked as
// soon as its last knob has a value, and earlier when it can tell from ranges. What lies below a partial assignment
// depends only on the *frontier*: the assigned knobs that some constraint still waits for. Partial assignments with
// equal frontiers share one node, and nodes with equal children are merged. Where constraints fall apart into
// independent groups of knobs the frontier is empty between them, so groups multiply instead of being enumerated
// together, and a space of 10^9 choices takes a few thousand nodes. This is the construction of a reduced ordered
// decision diagram (Bryant, "Graph-based algorithms for Boolean function manipulation", IEEE Trans. Computers 1986) for
// many-valued variables, with frontiers as in Knuth's Simpath (TAOCP 4A, 7.1.4).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "temper/search/space.h"

namespace temper::search {

/// How much work building a diagram may take.
struct DiagramLimits {
  std::uint64_t visits = 64'000'000;  ///< values tried at a partial assignment
  std::uint64_t edges = 32'000'000;   ///< values stored in nodes: 12 bytes each
};

class DecisionDiagram {
 public:
  /// Throws Error{InvalidArgument} when a constraint names an unknown knob, a knob has no or repeated values, or listed
  /// choices are malformed, come twice or stand beside constraints, and Error{Unsupported} when the limits or 2^63
  /// valid choices are exceeded. The design is not kept.
  explicit DecisionDiagram(const Design& design, const DiagramLimits& limits = {});

  /// Number of valid choices, exactly.
  std::uint64_t size() const { return size_; }
  /// Whether every constraint holds. False for a choice of another length or with a value out of range.
  bool contains(std::span<const std::int32_t> choice) const { return index_of(choice).has_value(); }
  /// The number of a valid choice; nothing when it is not valid.
  std::optional<std::uint64_t> index_of(std::span<const std::int32_t> choice) const;
  /// The valid choice of that number. Requires index < size().
  std::vector<std::int32_t> at(std::uint64_t index) const;
  /// All valid choices in the order of their numbers, row after row: `at(0)`, `at(1)`, ... Each row has a value index
  /// for every knob of the design.
  std::vector<std::int32_t> list() const;
  /// A valid choice that keeps what it can of `wanted`: knob by knob the nearest value that still leads to a valid
  /// choice (the lower one of two). Equal to `wanted` when that is valid. Requires size() > 0.
  std::vector<std::int32_t> nearest(std::span<const std::int32_t> wanted) const;

  /// Values stored in nodes, after merging: what the memory is proportional to.
  std::uint64_t edges() const { return child_.size(); }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  class Builder;

  std::vector<std::size_t> order_;   ///< position in the order → knob of the design
  std::vector<std::size_t> domain_;  ///< position in the order → number of values
  // A node at depth d is the number of its first edge, one edge per value of the knob at d. At the last depth children
  // are 0.
  std::vector<std::uint32_t> child_;  ///< edge → node below, or kNone when the value leads nowhere
  std::vector<std::uint64_t> below_;  ///< edge → valid choices through lower values of the same node
  std::uint32_t root_ = kNone;
  std::uint64_t size_ = 0;
};

}  // namespace temper::search
