// The interface between what may be built and how it is searched: knobs, constraints, candidates, Space, Scorer.
// A strategy sees nothing else, so every strategy works on every space.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "temper/record/record.h"

namespace temper::search {

/// One open choice: a name and its values, in an order that means something (neighbours in the list are alike).
struct Knob {
  std::string name;
  std::vector<std::int64_t> values;
};

/// A condition over some knobs of a design. `holds` receives the values of `knobs`, in that order. It must be pure and
/// cheap: enumeration calls it as soon as its last knob is assigned.
struct Constraint {
  std::string name;                 ///< says what is limited: "register file", "bodies", ...
  std::vector<std::string> knobs;
  std::function<bool(std::span<const std::int64_t>)> holds;
};

/// One way to build the work, with its open choices.
struct Design {
  std::string name;
  std::vector<Knob> knobs;
  std::vector<Constraint> constraints;
};

/// A point: a design and the *value indices* of its knobs.
struct Candidate {
  int design = 0;
  std::vector<std::int32_t> choice;
  bool operator==(const Candidate&) const = default;
  std::uint64_t hash() const;
};

class Space {
 public:
  virtual ~Space() = default;
  virtual const std::vector<Design>& designs() const = 0;
};

/// The knob values of a candidate, in the design's order.
std::vector<std::int64_t> values(const Space& space, const Candidate& candidate);
record::CandidateRecord to_record(const Space& space, const Candidate& candidate);
/// Throws Error{NotFound} when the design or a value no longer exists in `space`.
Candidate from_record(const Space& space, const record::CandidateRecord& record);

/// Ranks candidates without running them; higher is better, only the order counts.
class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual std::vector<double> score(std::span<const Candidate> candidates) = 0;
};

}  // namespace temper::search
