#include "temper/search/surrogate/gaussian_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "temper/support/error.h"

namespace temper::search {
namespace {

constexpr std::array kLengthScales{0.15, 0.3, 0.6, 1.0, 1.7, 3.0, 5.5, 10.0, 25.0};
constexpr int kFirstScale = 4;
constexpr std::array kNoises{1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.2};
constexpr int kFirstNoise = 3;

double matern(double distance) {
  const double r = std::sqrt(5.0) * distance;
  return (1 + r + r * r / 3) * std::exp(-r);
}

}  // namespace

GaussianProcess::GaussianProcess(std::span<const KnobColumn> columns)
    : columns_(columns.begin(), columns.end()), scales_(columns.size(), kFirstScale), noise_(kFirstNoise) {
  for (std::size_t column = 0; column < columns_.size(); ++column) tables_.push_back(table(column, kFirstScale));
}

double GaussianProcess::length_scale(std::size_t column) const {
  return kLengthScales[static_cast<std::size_t>(scales_[column])];
}
double GaussianProcess::noise() const { return kNoises[static_cast<std::size_t>(noise_)]; }

GaussianProcess::Table GaussianProcess::table(std::size_t column, int scale) const {
  const std::vector<double>& positions = columns_[column].positions;
  const double length = kLengthScales[static_cast<std::size_t>(scale)];
  Table result;
  for (std::size_t a = 0; a < positions.size(); ++a) {
    for (std::size_t b = 0; b < positions.size(); ++b) {
      const double apart = std::abs(positions[a] - positions[b]);
      result.push_back(a == b ? 1 : matern((std::isnan(apart) ? 1 : apart) / length));
    }
  }
  return result;
}

double GaussianProcess::correlation(const Levels& a, const Levels& b) const {
  double result = 1;
  for (std::size_t column = 0; column < tables_.size(); ++column) {
    if (a[column] == b[column]) continue;
    result *= tables_[column][a[column] * columns_[column].positions.size() + b[column]];
  }
  return result;
}

void GaussianProcess::reserve(std::size_t observations, std::size_t candidates) {
  const auto rows = static_cast<Eigen::Index>(observations), points = static_cast<Eigen::Index>(candidates);
  const Eigen::Index width = rows > factor_.rows() ? std::max<Eigen::Index>(32, rows * 3 / 2) : factor_.rows();
  const Eigen::Index height =
      points > projected_.rows() ? std::max<Eigen::Index>(64, points * 3 / 2) : projected_.rows();
  if (width > factor_.rows()) factor_.conservativeResize(width, width);
  if (width > projected_.cols() || height > projected_.rows()) projected_.conservativeResize(height, width);
  if (height > explained_.size()) explained_.conservativeResize(height);
}

void GaussianProcess::observe(const Levels& levels) {
  const std::size_t count = observed_.size();
  reserve(count + 1, pool_.size());
  const auto n = static_cast<Eigen::Index>(count);
  Vector row(n);
  for (std::size_t i = 0; i < count; ++i) row[static_cast<Eigen::Index>(i)] = correlation(observed_[i], levels);
  if (n > 0) factor_.topLeftCorner(n, n).triangularView<Eigen::Lower>().solveInPlace(row);
  const double left = std::max(1 + noise() - row.squaredNorm(), 0.5 * noise());
  factor_.row(n).head(n) = row.transpose();
  factor_(n, n) = std::sqrt(left);
  observed_.push_back(levels);
  if (pool_.empty()) return;
  const auto points = static_cast<Eigen::Index>(pool_.size());
  Vector column(points);
  for (std::size_t i = 0; i < pool_.size(); ++i) column[static_cast<Eigen::Index>(i)] = correlation(pool_[i], levels);
  if (n > 0) column.noalias() -= projected_.topLeftCorner(points, n) * row;
  column /= factor_(n, n);
  projected_.col(n).head(points) = column;
  explained_.head(points) += column.cwiseAbs2();
}

void GaussianProcess::project(std::size_t candidate) {
  const auto at = static_cast<Eigen::Index>(candidate), n = static_cast<Eigen::Index>(observed_.size());
  Vector row(n);
  for (std::size_t i = 0; i < observed_.size(); ++i)
    row[static_cast<Eigen::Index>(i)] = correlation(observed_[i], pool_[candidate]);
  if (n > 0) factor_.topLeftCorner(n, n).triangularView<Eigen::Lower>().solveInPlace(row);
  projected_.row(at).head(n) = row.transpose();
  explained_[at] = row.squaredNorm();
}

void GaussianProcess::add_candidate(const Levels& levels) {
  reserve(observed_.size(), pool_.size() + 1);
  pool_.push_back(levels);
  project(pool_.size() - 1);
}

void GaussianProcess::remove_candidate(std::size_t number) {
  TEMPER_CHECK(number < pool_.size(), "a candidate that is not in the pool was removed");
  const auto at = static_cast<Eigen::Index>(number), last = static_cast<Eigen::Index>(pool_.size()) - 1;
  const auto n = static_cast<Eigen::Index>(observed_.size());
  if (at != last) {
    projected_.row(at).head(n) = projected_.row(last).head(n);
    explained_[at] = explained_[last];
    pool_[number] = std::move(pool_.back());
  }
  pool_.pop_back();
}

void GaussianProcess::clear_observations() {
  observed_.clear();
  explained_.setZero();
}

void GaussianProcess::set_targets(std::span<const double> targets) {
  TEMPER_CHECK(targets.size() == observed_.size() && !targets.empty(), "a target is missing for an observation");
  const auto n = static_cast<Eigen::Index>(targets.size());
  const auto lower = factor_.topLeftCorner(n, n).triangularView<Eigen::Lower>();
  Vector white = Eigen::Map<const Vector>(targets.data(), n);
  const double spread = (white.array() - white.mean()).square().mean();
  Vector ones = Vector::Ones(n);
  lower.solveInPlace(white);
  lower.solveInPlace(ones);
  const double centre = ones.dot(white) / ones.squaredNorm();
  white -= centre * ones;
  // The sample's own variance counts as two observations more: with few of them the estimate is poor.
  variance_ = (white.squaredNorm() + 2 * spread) / static_cast<double>(n + 2);
  const auto points = static_cast<Eigen::Index>(pool_.size());
  means_.noalias() = projected_.topLeftCorner(points, n) * white;
  means_.array() += centre;
}

double GaussianProcess::deviation(std::size_t number) const {
  return std::sqrt(variance_ * std::max(0.0, 1 - explained_[static_cast<Eigen::Index>(number)]));
}

double GaussianProcess::prior(int scale) const {
  const double steps = (scale - kFirstScale) / 2.5;
  return -0.5 * steps * steps;
}

double GaussianProcess::likelihood(const Matrix& correlations, const Vector& targets, int noise) const {
  const Eigen::Index n = targets.size();
  Eigen::MatrixXd covariance = correlations;
  covariance.diagonal().array() += kNoises[static_cast<std::size_t>(noise)];
  const Eigen::LLT<Eigen::MatrixXd> factor(covariance);
  if (factor.info() != Eigen::Success) return -std::numeric_limits<double>::infinity();
  Vector white = targets, ones = Vector::Ones(n);
  factor.matrixL().solveInPlace(white);
  factor.matrixL().solveInPlace(ones);
  white -= ones.dot(white) / ones.squaredNorm() * ones;
  const double count = static_cast<double>(n);
  const double determinant = 2 * factor.matrixLLT().diagonal().array().log().sum();
  return -0.5 * (count * std::log(std::max(white.squaredNorm() / count, 1e-300)) + determinant);
}

void GaussianProcess::fit(std::span<const double> targets, std::span<const std::size_t> judged, int sweeps) {
  TEMPER_CHECK(targets.size() == observed_.size(), "a target is missing for an observation");
  const auto n = static_cast<Eigen::Index>(judged.size());
  Vector values(n);
  for (Eigen::Index i = 0; i < n; ++i) values[i] = targets[judged[static_cast<std::size_t>(i)]];
  const auto pairs = [&](const auto& correlate) {
    Matrix result(n, n);
    for (Eigen::Index a = 0; a < n; ++a) {
      const Levels& row = observed_[judged[static_cast<std::size_t>(a)]];
      for (Eigen::Index b = 0; b <= a; ++b)
        result(a, b) = result(b, a) = correlate(row, observed_[judged[static_cast<std::size_t>(b)]]);
    }
    return result;
  };
  Matrix current = pairs([&](const Levels& a, const Levels& b) { return correlation(a, b); });
  double best = likelihood(current, values, noise_);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      const int here = scales_[column];
      const std::size_t levels = columns_[column].positions.size();
      for (const int scale : {here + 1, here - 1, here + 3, here - 3}) {
        if (scale < 0 || scale >= static_cast<int>(kLengthScales.size())) continue;
        const Table old = tables_[column];
        const int old_scale = scales_[column];
        tables_[column] = table(column, scale);
        scales_[column] = scale;
        // Factors reach zero for nobody: the ratio of two tables turns one product into the other.
        const Table& fresh = tables_[column];
        const Matrix moved = current.cwiseProduct(pairs([&](const Levels& a, const Levels& b) {
          const std::size_t at = a[column] * levels + b[column];
          return fresh[at] / old[at];
        }));
        const double own = likelihood(moved, values, noise_);
        if (own + prior(scale) > best + prior(old_scale)) {
          best = own;
          current = moved;
        } else {
          tables_[column] = old;
          scales_[column] = old_scale;
        }
      }
    }
    for (const int noise : {noise_ + 1, noise_ - 1}) {
      if (noise < 0 || noise >= static_cast<int>(kNoises.size())) continue;
      const double own = likelihood(current, values, noise);
      if (own > best) best = own, noise_ = noise;
    }
  }
  // Everything is projected anew.
  const std::vector<Levels> observed = std::move(observed_);
  observed_.clear();
  explained_.setZero();
  for (const Levels& levels : observed) observe(levels);
}

}  // namespace temper::search
