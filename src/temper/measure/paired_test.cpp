#include "temper/measure/paired_test.h"

#include <cmath>

#include "temper/support/error.h"

namespace temper::measure {
namespace {

/// Probability that at most `successes` of `trials` fair coins fall on one side.
double fair_coins(int successes, int trials) {
  double sum = 0;
  for (int k = 0; k <= successes; ++k)
    sum += std::exp(std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) - std::lgamma(trials - k + 1.0) -
                    trials * std::log(2.0));
  return sum;
}

}  // namespace

double coin_evidence(int successes, int trials) {
  TEMPER_CHECK(0 <= successes && successes <= trials, "there are no more successes than trials");
  // The integral from 1/2 to 1 is that of a beta density's upper half: a sum over fair coins.
  const double log_beta =
      std::lgamma(successes + 1.0) + std::lgamma(trials - successes + 1.0) - std::lgamma(trials + 2.0);
  return std::exp((trials + 1) * std::log(2.0) + log_beta) * fair_coins(successes, trials + 1);
}

PairedTest::PairedTest(const Options& options) : options_(options) {
  const auto is_share = [](double value) { return value > 0 && value < 1; };
  if (!is_share(options.false_alarms) || !is_share(options.width)) {
    throw Error(ErrorCode::InvalidArgument, "false alarms and width of a paired test lie between 0 and 1",
                "paired test");
  }
}

Verdict PairedTest::add(double first, double second) {
  TEMPER_CHECK(first > 0 && second > 0, "times are positive");
  if (verdict_ != Verdict::Open) return verdict_;
  ++pairs_;
  const double ratio = first / second;
  if (ratio < 1 - options_.width) ++clearly_first_;
  if (ratio > 1 + options_.width) ++clearly_second_;
  const double enough = 2 / options_.false_alarms;  // either kernel could be declared the winner
  const auto rejected = [&](int pairs) { return coin_evidence(pairs, pairs_) >= enough; };
  if (rejected(clearly_first_)) {
    verdict_ = Verdict::FirstFaster;
  } else if (rejected(clearly_second_)) {
    verdict_ = Verdict::SecondFaster;
  } else if (rejected(pairs_ - clearly_first_) && rejected(pairs_ - clearly_second_)) {
    verdict_ = Verdict::Tie;
  }
  return verdict_;
}

}  // namespace temper::measure
