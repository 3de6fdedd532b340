// How good a ranking is. `predicted` and `actual` are scores of the same candidates; higher is better in both.
// Every function throws Error{InvalidArgument} when the sizes differ.
#pragma once

#include <span>

namespace temper::cost {

/// Share of the pairs with different actual scores that the prediction puts in the same order; equal predictions count
/// half. 0.5 is guessing, 1 is perfect. 1 when no two actual scores differ.
double pairwise_accuracy(std::span<const double> predicted, std::span<const double> actual);

/// The best actual value among the `k` candidates predicted best, over the best actual value of all. `actual` must be
/// positive (throughput): 1 means that measuring k candidates would have found the best. 0 when k is 0 or nothing is
/// given.
double top_k_score(std::span<const double> predicted, std::span<const double> actual, int k);

/// Share of the `k` actually best candidates that are among the `k` predicted best. Fewer candidates than k: 1.
double recall_at_k(std::span<const double> predicted, std::span<const double> actual, int k);

}  // namespace temper::cost
