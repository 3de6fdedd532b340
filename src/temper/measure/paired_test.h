// Which of two kernels is the faster, from pairs of times taken side by side; may be asked after every pair.
//
// Four hypotheses about the median of the ratio first / second are tested at once: not below 1 - width, not above
// 1 + width (rejecting one of these: a winner), not below 1 + width, not above 1 - width (rejecting both of these: a
// tie). Each is one about a coin: under "the median is at least m", a pair's ratio is below m with probability 1/2 at
// most. The evidence against it after n pairs, k of which were below m, is a bet on every larger probability p, all
// equally likely:
//   E = 2 * integral over p from 1/2 to 1 of (2p)^k (2(1-p))^(n-k) dp
// Where the hypothesis holds, E is a supermartingale that begins at 1, so that it ever reaches 1/a with probability a
// at most (Ville 1939; Ramdas et al., "Game-theoretic statistics and safe anytime-valid inference", Statistical Science
// 38(4), 2023): looking after every pair costs nothing. Only signs count, so that no outlier and no shape of the noise
// matters. What is needed is that pairs are independent: take them from fresh starts where the start decides on the
// time.
#pragma once

namespace temper::measure {

enum class Verdict { Open, FirstFaster, SecondFaster, Tie };

/// The evidence E above; at least 0. Requires 0 <= successes <= trials.
double coin_evidence(int successes, int trials);

class PairedTest {
 public:
  struct Options {
    /// Probability at most that a winner is declared between kernels whose median ratio is within `width` of 1, however
    /// many pairs are taken. In (0, 1).
    double false_alarms = 0.005;
    /// Ratios within this of 1 are a tie. In (0, 1).
    double width = 0.01;
  };
  /// Throws Error{InvalidArgument} for options out of bounds.
  explicit PairedTest(const Options& options);

  /// One more pair of positive times of the same work. Once decided the verdict stays.
  Verdict add(double first, double second);
  Verdict verdict() const { return verdict_; }
  int pairs() const { return pairs_; }

 private:
  Options options_;
  int pairs_ = 0;
  int clearly_first_ = 0, clearly_second_ = 0;  ///< pairs whose ratio is below 1 - width, above 1 + width
  Verdict verdict_ = Verdict::Open;
};

}  // namespace temper::measure
