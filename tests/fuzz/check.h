// Carries one (compute, schedule) pair through every step from text to machine code and compares with the oracle.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "random_definition.h"
#include "temper/codegen/codegen.h"
#include "temper/schedule/trace.h"

namespace temper::fuzz {

struct Outcome {
  enum class Kind { Equal, Refused, Failed } kind = Kind::Equal;
  std::string rule;     ///< Refused: the rule or the message of the refusal
  std::string message;  ///< what went wrong, with compute, trace and loop program; empty when equal
};

class Checker {
 public:
  /// Code is generated for `target` or, by the draw of `data`, for the same machine with narrower vectors.
  explicit Checker(const target::Target& target);

  /// Builds, runs and compares. `data` draws the contents of the inputs.
  Outcome check(const ir::Compute& compute, const schedule::Schedule& schedule, RandomStream data);
  /// The same, from text.
  Outcome check_text(const std::string& compute, const std::string& trace, std::uint64_t data_seed = 1);

 private:
  std::vector<codegen::Generator> generators_;
};

/// A pair drawn from a seed.
struct Pair {
  std::uint64_t seed = 0;
  Definition definition;
  std::map<std::string, int> refused_primitives;  ///< rule → times
  std::set<std::string> features;                 ///< what the schedule makes use of
};
/// Draws the pair of `seed` and checks it.
Outcome check_seed(Checker& checker, std::uint64_t seed, Pair& pair);

}  // namespace temper::fuzz
