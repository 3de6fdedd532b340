// A model of the knobs alone, for ranking hundreds of thousands of candidates a second: what a slower scorer says of
// some of them, spread to all.
//
// For each design the score is a mean, an effect of each knob's value and an effect of each pair of values of two
// knobs. The effects are means of what the terms before them leave, drawn towards zero where few candidates tell
// (backfitting of an additive model: Hastie and Tibshirani, Generalized Additive Models, 1990).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "temper/search/space.h"

namespace temper::cost {

class KnobScreen {
 public:
  /// Copies what it needs of the space.
  explicit KnobScreen(const search::Space& space);

  /// Learns from these scores and nothing that was given before; those that are not finite are left out.
  void learn(std::span<const search::Candidate> candidates, std::span<const double> scores);
  /// Of the design: how many scores it learned from.
  std::size_t known(int design) const { return designs_[static_cast<std::size_t>(design)].count; }

  double score(const search::Candidate& candidate) const;

 private:
  struct Design {
    std::vector<std::size_t> first;  ///< knob → its first value among all values of the design
    std::size_t values = 0;          ///< of all knobs
    std::size_t count = 0;
    double mean = 0;
    std::vector<float> single;  ///< value
    std::vector<float> pair;    ///< value of the earlier knob x value of the later one
  };
  void learn(Design& design, std::span<const search::Candidate* const> candidates, std::vector<double> scores);

  std::vector<Design> designs_;
};

}  // namespace temper::cost
