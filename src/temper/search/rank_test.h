// Whether one group of results is really better than another: a rank test that assumes no distribution.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace temper::search {

/// Two groups of results of the same kind of trial (scores on one space). Higher is better.
struct RankedGroups {
  std::vector<double> first, second;
};

struct RankTest {
  /// Probability that a result of the first group is higher than one of the second, ties counting half; the mean over
  /// strata.
  double superiority = 0.5;
  /// Two-sided probability of ranks this uneven when both groups are alike.
  double p_value = 1;
};

/// Van Elteren's test: rank sums within each stratum (each space), added with weights 1 / (n + m + 1), by the normal
/// approximation with correction for ties. With one stratum it is the rank-sum test of Wilcoxon, Mann and Whitney.
/// Strata in which a group is empty are left out. (van Elteren, "On the combination of independent two-sample tests of
/// Wilcoxon", Bulletin of the International Statistical Institute, 1960.)
RankTest rank_test(std::span<const RankedGroups> strata);

/// P-values of several tests at once, raised so that the chance of any false alarm stays what one test has. (Holm, "A
/// simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics, 1979.)
std::vector<double> holm_corrected(std::span<const double> p_values);

}  // namespace temper::search
