// Exact handling of a constrained space, without rejection: how many candidates are valid, the bijection between them
// and the numbers 0..size-1, uniform sampling, neighbours, mutation and crossover that stay valid.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "temper/search/decision_diagram.h"
#include "temper/search/space.h"
#include "temper/support/random.h"

namespace temper::search {

/// How far a neighbour may lie.
enum class Reach {
  Step,  ///< the next valid value of one knob, upwards or downwards
  Any,   ///< any other valid value of one knob
};

class SpaceIndex {
 public:
  /// Throws what `DecisionDiagram` throws. The space is not kept.
  explicit SpaceIndex(const Space& space, const DiagramLimits& limits = {});

  /// Number of valid candidates, exactly.
  std::uint64_t size() const { return first_.back(); }
  std::uint64_t size(int design) const { return diagrams_[static_cast<std::size_t>(design)].size(); }
  int designs() const { return static_cast<int>(diagrams_.size()); }

  bool contains(const Candidate& candidate) const { return index_of(candidate).has_value(); }
  /// Number of a valid candidate (designs one after another); nothing when it is not valid.
  std::optional<std::uint64_t> index_of(const Candidate& candidate) const;
  /// Requires index < size().
  Candidate at(std::uint64_t index) const;

  /// Uniform over all valid candidates. Requires size() > 0.
  Candidate sample(RandomStream& random) const { return at(random.below(size())); }
  /// Uniform over those designs that have valid candidates, then uniform within the design: a small design is not
  /// drowned by a large one. Requires size() > 0.
  Candidate sample_by_design(RandomStream& random) const;

  /// Valid candidates that differ from a valid one in one knob, in knob order, then value order.
  std::vector<Candidate> neighbours(const Candidate& candidate, Reach reach) const;
  /// Valid candidates that differ from a valid one in two knobs, by one position each (Step) or to any value (Any):
  /// moves along a constraint that no single knob can make.
  std::vector<Candidate> pair_neighbours(const Candidate& candidate, Reach reach) const;

  /// The valid candidate of another design that is most like this one: knobs of equal name take the nearest value,
  /// others their middle one, then all move to the nearest valid choice. Requires size(design) > 0.
  Candidate translate(const Candidate& candidate, int design) const;

  /// The valid candidate of the same design that keeps what it can of `wanted`, whose value indices must exist but may
  /// break constraints. Requires size(wanted.design) > 0.
  Candidate nearest(const Candidate& wanted) const { return {wanted.design, diagram(wanted).nearest(wanted.choice)}; }

  /// A valid candidate other than `candidate`, unless the space has no other, with about `knobs` knobs changed. Half of
  /// the changes are single steps, half go to any value; what constraints then forbid is moved to the nearest valid
  /// choice. Where there are several designs, one mutation in sixteen is a translation to another one instead.
  Candidate mutate(const Candidate& candidate, int knobs, RandomStream& random) const;
  /// Each knob from one of two valid parents of one design, moved to the nearest valid choice. Returns one of the
  /// parents when their designs differ.
  Candidate crossover(const Candidate& one, const Candidate& other, RandomStream& random) const;

 private:
  const DecisionDiagram& diagram(const Candidate& candidate) const {
    return diagrams_[static_cast<std::size_t>(candidate.design)];
  }
  std::int32_t domain(const Candidate& candidate, std::size_t knob) const {
    return static_cast<std::int32_t>(knobs_[static_cast<std::size_t>(candidate.design)][knob].values.size());
  }
  Candidate mutate_within(const Candidate& candidate, int knobs, RandomStream& random) const;

  std::vector<DecisionDiagram> diagrams_;
  std::vector<std::vector<Knob>> knobs_;  ///< design → its knobs
  std::vector<std::uint64_t> first_;      ///< design → number of its first candidate; then the size
  std::vector<int> populated_;            ///< designs with valid candidates
};

}  // namespace temper::search
