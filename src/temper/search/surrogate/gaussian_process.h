// A Gaussian process over knob levels that grows by one observation at a time and keeps its predictions for a pool of
// candidates up to date: with n observations, a further one costs O(n^2 + n * pool), so the argmax of an acquisition
// function over a whole pool is cheap enough to be taken anew for every measurement.
//
// The correlation of two rows is a product over the columns, each factor a Matern 5/2 function of the distance between
// the two levels, over the column's own length scale (automatic relevance determination); levels without a place are at
// distance 1 from all others. Mean and variance are estimated in closed form; length scales and noise maximise the
// marginal likelihood over a grid, a coordinate at a time (Rasmussen and Williams, "Gaussian processes for machine
// learning", 2006, sections 2.2, 4.2 and 5.4; growing factors: Osborne, 2010).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "temper/search/surrogate/knob_columns.h"

namespace temper::search {

using Levels = std::vector<std::uint16_t>;

class GaussianProcess {
 public:
  explicit GaussianProcess(std::span<const KnobColumn> columns);

  void observe(const Levels& levels);
  /// Its number is the count of those before it.
  void add_candidate(const Levels& levels);
  /// The last candidate takes its number.
  void remove_candidate(std::size_t number);
  /// Forgets the observations; the candidates stay.
  void clear_observations();

  /// The targets of all observations, in their order; O(n^2 + n * pool). What is predicted follows from the last call:
  /// call it after every change above.
  void set_targets(std::span<const double> targets);
  /// Of a candidate: expected target, and the standard deviation of what is expected.
  double mean(std::size_t number) const { return means_[static_cast<Eigen::Index>(number)]; }
  double deviation(std::size_t number) const;

  /// Moves length scales and noise towards a larger marginal likelihood: `sweeps` times each of them to a neighbour on
  /// its grid where that is better, judged on the observations numbered `judged` (O(judged^3) for each step tried).
  /// What was added stays; targets must be set again.
  void fit(std::span<const double> targets, std::span<const std::size_t> judged, int sweeps);

  /// Of a column: how far apart levels must lie to be unlike; for messages and tests.
  double length_scale(std::size_t column) const;
  double noise() const;

 private:
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Vector = Eigen::VectorXd;
  /// Correlations between the levels of a column, row after row.
  using Table = std::vector<double>;

  Table table(std::size_t column, int scale) const;
  double correlation(const Levels& a, const Levels& b) const;
  /// Log of the marginal likelihood plus that of the prior of the scales; minus infinity where it cannot be computed.
  double likelihood(const Matrix& correlations, const Vector& targets, int noise) const;
  double prior(int scale) const;
  void reserve(std::size_t observations, std::size_t candidates);
  void project(std::size_t candidate);

  std::vector<KnobColumn> columns_;
  std::vector<int> scales_;  ///< column → position on the grid of length scales
  int noise_;                ///< position on the grid of noises
  std::vector<Table> tables_;
  std::vector<Levels> observed_, pool_;
  Matrix factor_;     ///< lower Cholesky factor of the observations' correlations; more rows than are used
  Matrix projected_;  ///< candidate → the factor's inverse times its correlations with the observations
  Vector explained_;  ///< candidate → squared norm of its row of `projected_`
  Vector means_;
  double variance_ = 1;
};

}  // namespace temper::search
