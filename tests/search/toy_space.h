// Spaces and landscapes with known answers, for tests of whatever searches.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "temper/search/space.h"

namespace temper::search {

/// A space from a list of designs.
class FakeSpace : public Space {
 public:
  explicit FakeSpace(std::vector<Design> designs) : designs_(std::move(designs)) {}
  const std::vector<Design>& designs() const override { return designs_; }

 private:
  std::vector<Design> designs_;
};

inline std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value <= last; ++value) values.push_back(value);
  return values;
}
inline std::vector<std::int64_t> powers(std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = 1; value <= last; value *= 2) values.push_back(value);
  return values;
}

/// Every choice of a design, constraints or not, by brute force.
inline std::vector<Candidate> all_choices(const Design& design, int number) {
  std::vector<Candidate> result{{number, {}}};
  for (const Knob& knob : design.knobs) {
    std::vector<Candidate> longer;
    for (const Candidate& candidate : result) {
      for (std::size_t value = 0; value < knob.values.size(); ++value) {
        longer.push_back(candidate);
        longer.back().choice.push_back(static_cast<std::int32_t>(value));
      }
    }
    result = std::move(longer);
  }
  return result;
}
/// Whether every constraint holds, asked one by one.
inline bool holds(const Design& design, const Candidate& candidate) {
  for (const Constraint& constraint : design.constraints) {
    std::vector<std::int64_t> arguments;
    for (const std::string& name : constraint.knobs) {
      const auto knob = static_cast<std::size_t>(knob_index(design, name));
      arguments.push_back(design.knobs[knob].values[static_cast<std::size_t>(candidate.choice[knob])]);
    }
    if (!constraint.holds(arguments)) return false;
  }
  return true;
}

/// A tiled matrix product in miniature: a register tile, an unroll factor, cache blocks and two flags in two designs.
/// 636,696 valid candidates.
inline FakeSpace toy_matmul() {
  const auto register_file = [](std::span<const std::int64_t> v) { return v[0] * v[1] + v[1] + 1 <= 32; };
  const auto body = [](std::span<const std::int64_t> v) { return v[0] * v[1] * v[2] <= 128; };
  const auto fits = [](std::span<const std::int64_t> v) { return v[0] * v[1] <= 64 * 1024; };
  const auto make = [&](std::string name) {
    return Design{std::move(name),
                  {{"rows", range(1, 16)},
                   {"vectors", range(1, 8)},
                   {"unroll", powers(16)},
                   {"mc", powers(1024)},
                   {"kc", powers(1024)},
                   {"order", range(0, 5)},
                   {"prefetch", {0, 1}}},
                  {{"register file", {"rows", "vectors"}, register_file},
                   {"body", {"rows", "vectors", "unroll"}, body},
                   {"panel in L2", {"mc", "kc"}, fits}}};
  };
  return FakeSpace({make("direct"), make("packed")});
}

/// Seconds of a candidate of `toy_matmul`: smooth in the logarithms of its knobs, with interactions and one best
/// region.
inline double toy_seconds(const Space& space, const Candidate& candidate) {
  const std::vector<std::int64_t> v = values(space, candidate);
  const auto square = [](double x) { return x * x; };
  const auto log = [](std::int64_t x) { return std::log2(static_cast<double>(x)); };
  double slow = 1;
  slow += 0.6 * square(std::log2(static_cast<double>(v[0] * v[1]) / 24.0)) +
          0.2 * square(static_cast<double>(v[1]) - 4) / 4;
  slow += 0.05 * square(log(v[2]) - 2) + 0.03 * square(log(v[3]) - 6) + 0.04 * square(log(v[4]) - 8);
  slow += 0.03 * static_cast<double>(v[5]) + 0.05 * static_cast<double>(v[6]);
  slow += candidate.design == 0 ? 0.3 : 0.0;
  return slow * 1e-3;
}

/// Knows the landscape up to a multiplicative error that depends on the candidate alone.
class FakeScorer : public Scorer {
 public:
  FakeScorer(const Space& space, double error) : space_(space), error_(error) {}
  std::vector<double> score(std::span<const Candidate> candidates) override {
    std::vector<double> result;
    for (const Candidate& candidate : candidates) {
      const double noise = static_cast<double>(candidate.hash() >> 11) * 0x1.0p-53 - 0.5;
      result.push_back(-std::log(toy_seconds(space_, candidate)) + error_ * noise);
    }
    scored += static_cast<std::int64_t>(candidates.size());
    return result;
  }
  std::int64_t scored = 0;

 private:
  const Space& space_;
  double error_;
};

}  // namespace temper::search
