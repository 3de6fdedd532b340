// Who of several gets the next evaluation: shares that follow what each brought for its evaluations of late.
#pragma once

#include <cstddef>
#include <vector>

#include "temper/support/random.h"

namespace temper::search {

struct GainBanditOptions {
  double floor = 0.2;    ///< part that is shared evenly whatever was brought
  double memory = 0.97;  ///< what a gain or an evaluation still counts after another evaluation
  double trust = 8;      ///< evaluations of the mean gain that everyone is taken to have made
};

class GainBandit {
 public:
  /// Requires members > 0.
  GainBandit(std::size_t members, const GainBanditOptions& options) : options_(options), members_(members) {}

  /// What an evaluation of that member brought: 0 or more.
  void credit(std::size_t member, double gain);
  /// The probability of each member to be drawn; they add up to 1. Even while nothing was gained.
  std::vector<double> shares() const;
  std::size_t draw(RandomStream& random) const;

 private:
  struct Member {
    double gain = 0, evaluations = 0;  ///< the older the less
  };
  GainBanditOptions options_;
  std::vector<Member> members_;
};

}  // namespace temper::search
