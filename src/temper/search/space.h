// The interface between what may be built and how it is searched: knobs, constraints, candidates, Space, Scorer.
// A strategy sees nothing else, so every strategy works on every space.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "temper/record/record.h"

namespace temper::search {

/// One open choice: a name and its values, in an order that means something (neighbours in the list are alike).
struct Knob {
  std::string name;
  std::vector<std::int64_t> values;
};

/// A range of values; both ends belong to it.
struct Bounds {
  double low = 0, high = 0;
  bool operator==(const Bounds&) const = default;
};

/// A condition over some knobs of a design. `holds` receives the values of `knobs`, in that order. It must be pure and
/// cheap: enumeration calls it as soon as its last knob is assigned.
struct Constraint {
  std::string name;  ///< says what is limited: "register file", "bodies", ...
  std::vector<std::string> knobs;
  std::function<bool(std::span<const std::int64_t>)> holds;
  /// Optional: receives the range that each of `knobs` is still in, and is false only when no values in these ranges
  /// hold. It lets enumeration leave a partial choice early, which pays for constraints over many knobs.
  std::function<bool(std::span<const Bounds>)> may_hold = {};
};

/// One way to build the work, with its open choices.
struct Design {
  std::string name;
  std::vector<Knob> knobs;
  std::vector<Constraint> constraints;
  /// When not empty: exactly these choices (value indices, in the order of `knobs`) are valid, and there are no
  /// constraints. Of a space whose valid points are known and not described.
  std::vector<std::vector<std::int32_t>> listed = {};
};
/// Position of the knob of that name; -1 when the design has none.
int knob_index(const Design& design, std::string_view name);

/// A point: a design and the *value indices* of its knobs.
struct Candidate {
  int design = 0;
  std::vector<std::int32_t> choice;
  bool operator==(const Candidate&) const = default;
  /// The same in every process.
  std::uint64_t hash() const;
};
/// Makes candidates usable as keys of unordered containers.
struct CandidateHash {
  std::size_t operator()(const Candidate& candidate) const { return static_cast<std::size_t>(candidate.hash()); }
};
using CandidateSet = std::unordered_set<Candidate, CandidateHash>;
template <class Value>
using CandidateMap = std::unordered_map<Candidate, Value, CandidateHash>;

/// Everything that may be built for one piece of work.
class Space {
 public:
  virtual ~Space() = default;
  /// The same list, at the same address, for the life of the space.
  virtual const std::vector<Design>& designs() const = 0;
};

/// The knob values of a candidate, in the design's order.
std::vector<std::int64_t> values(const Space& space, const Candidate& candidate);
record::CandidateRecord to_record(const Space& space, const Candidate& candidate);
/// Throws Error{NotFound} when the design or a value no longer exists in `space`.
Candidate from_record(const Space& space, const record::CandidateRecord& record);

/// Ranks candidates without running them; higher is better, only the order counts. Minus infinity: it cannot be built,
/// so it is never proposed on purpose. Never NaN.
class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual std::vector<double> score(std::span<const Candidate> candidates) = 0;
};

}  // namespace temper::search
