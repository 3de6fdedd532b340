// The model that a search learns from its measurements: columns of knobs, Gaussian process, pool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "search/toy_space.h"
#include "temper/search/enumeration.h"
#include "temper/search/surrogate/gaussian_process.h"
#include "temper/search/surrogate/knob_columns.h"
#include "temper/search/surrogate/pool_surrogate.h"

namespace temper::search {
namespace {

TEST(KnobColumns, PlacesValuesByTheirLogarithmOrTheirRank) {
  const FakeSpace space({{"a", {{"tile", {0, 1, 3, 7}}, {"order", {4, 1, 9}}, {"fixed", {5}}}, {}}});
  const KnobColumns columns(space);
  ASSERT_EQ(columns.size(), 2u);  // one design, and a knob with one value says nothing
  EXPECT_EQ(columns.columns()[0].name, "tile");
  const std::vector<double>& tile = columns.columns()[0].positions;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(tile[i], static_cast<double>(i) / 3, 1e-12);  // log2(1 + value)
  EXPECT_THAT(columns.columns()[1].positions, ::testing::ElementsAre(0, 0.5, 1));
  EXPECT_THAT(columns.levels({0, {2, 1, 0}}), ::testing::ElementsAre(2, 1));
}

TEST(KnobColumns, DesignsShareKnobsOfOneName) {
  const FakeSpace space({{"a", {{"x", {1, 4}}, {"only", {0, 1}}}, {}}, {"b", {{"x", {2, 4}}}, {}}});
  const KnobColumns columns(space);
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(columns.columns()[0].name, "design");
  EXPECT_THAT(columns.columns()[0].positions, ::testing::Each(::testing::IsNan()));
  EXPECT_EQ(columns.columns()[1].positions.size(), 3u);
  EXPECT_TRUE(columns.columns()[2].optional);
  EXPECT_TRUE(std::isnan(columns.columns()[2].positions[2]));
  EXPECT_THAT(columns.levels({0, {1, 0}}), ::testing::ElementsAre(0, 2, 0));
  EXPECT_THAT(columns.levels({1, {1}}), ::testing::ElementsAre(1, 2, 2));
}

/// Rows with three columns; the target depends on the first strongly, on the second weakly, on the third not at all.
struct Rows {
  std::vector<KnobColumn> columns;
  std::vector<Levels> observed, pool;
  std::vector<double> targets;
};
Rows make_rows(std::size_t count, double noise) {
  Rows rows;
  for (const char* name : {"strong", "weak", "none"}) {
    KnobColumn column{name, {}, false};
    for (int i = 0; i < 8; ++i) column.positions.push_back(i / 7.0);
    rows.columns.push_back(column);
  }
  RandomStream random(7);
  const auto draw = [&] {
    Levels levels;
    for (int i = 0; i < 3; ++i) levels.push_back(static_cast<std::uint16_t>(random.below(8)));
    return levels;
  };
  for (std::size_t i = 0; i < count; ++i) {
    rows.observed.push_back(draw());
    const double x = rows.observed.back()[0] / 7.0, y = rows.observed.back()[1] / 7.0;
    rows.targets.push_back(std::sin(9 * x) + 0.3 * y + noise * random.approximately_normal());
  }
  for (int i = 0; i < 20; ++i) rows.pool.push_back(draw());
  return rows;
}

/// The textbook formulas on whole matrices, with the correlations of a fresh process.
struct Prediction {
  double mean = 0, deviation = 0;
};
std::vector<Prediction> predict_plainly(const Rows& rows, double length, double noise) {
  const auto correlation = [&](const Levels& a, const Levels& b) {
    double product = 1;
    for (std::size_t c = 0; c < 3; ++c) {
      const double r = std::sqrt(5.0) * std::abs(a[c] - b[c]) / 7.0 / length;
      product *= (1 + r + r * r / 3) * std::exp(-r);
    }
    return product;
  };
  const auto n = static_cast<Eigen::Index>(rows.observed.size());
  Eigen::MatrixXd covariance(n, n);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    y[i] = rows.targets[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < n; ++j) {
      covariance(i, j) =
          correlation(rows.observed[static_cast<std::size_t>(i)], rows.observed[static_cast<std::size_t>(j)]) +
          (i == j ? noise : 0);
    }
  }
  const Eigen::MatrixXd inverse = covariance.inverse();
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(n);
  const double centre = ones.dot(inverse * y) / ones.dot(inverse * ones);
  const Eigen::VectorXd rest = y - centre * ones;
  const double spread = (y.array() - y.mean()).square().mean();
  const double variance = (rest.dot(inverse * rest) + 2 * spread) / static_cast<double>(n + 2);
  std::vector<Prediction> result;
  for (const Levels& levels : rows.pool) {
    Eigen::VectorXd k(n);
    for (Eigen::Index i = 0; i < n; ++i) k[i] = correlation(levels, rows.observed[static_cast<std::size_t>(i)]);
    result.push_back({centre + k.dot(inverse * rest), std::sqrt(std::max(0.0, variance * (1 - k.dot(inverse * k))))});
  }
  return result;
}

TEST(GaussianProcess, GrowsToWhatTheFormulasSay) {
  const Rows rows = make_rows(70, 0.1);
  const std::vector<Prediction> expected = predict_plainly(rows, 1.7, 1e-2);
  // Half of the pool before, half after the observations; one leaves in between.
  GaussianProcess model(rows.columns);
  EXPECT_EQ(model.length_scale(0), 1.7);
  EXPECT_EQ(model.noise(), 1e-2);
  model.add_candidate(rows.pool[15]);
  for (std::size_t i = 1; i < 10; ++i) model.add_candidate(rows.pool[i]);
  model.add_candidate(rows.pool[0]);
  for (const Levels& levels : rows.observed) model.observe(levels);
  model.remove_candidate(0);
  for (std::size_t i = 10; i < rows.pool.size(); ++i) model.add_candidate(rows.pool[i]);
  model.set_targets(rows.targets);
  for (std::size_t i = 0; i < rows.pool.size(); ++i) {
    EXPECT_NEAR(model.mean(i), expected[i].mean, 1e-6) << i;
    EXPECT_NEAR(model.deviation(i), expected[i].deviation, 1e-6) << i;
  }
  // Starting again comes to the same.
  model.clear_observations();
  for (const Levels& levels : rows.observed) model.observe(levels);
  model.set_targets(rows.targets);
  EXPECT_NEAR(model.mean(3), expected[3].mean, 1e-6);
  EXPECT_NEAR(model.deviation(3), expected[3].deviation, 1e-6);
}

TEST(GaussianProcess, FindsWhichColumnsMatterAndPredictsBetterForIt) {
  const Rows rows = make_rows(80, 0.01);
  GaussianProcess model(rows.columns);
  for (const Levels& levels : rows.pool) model.add_candidate(levels);
  for (const Levels& levels : rows.observed) model.observe(levels);
  const auto error = [&] {
    model.set_targets(rows.targets);
    double sum = 0;
    for (std::size_t i = 0; i < rows.pool.size(); ++i) {
      const double truth = std::sin(9 * rows.pool[i][0] / 7.0) + 0.3 * rows.pool[i][1] / 7.0;
      sum += std::abs(model.mean(i) - truth);
    }
    return sum / static_cast<double>(rows.pool.size());
  };
  const double before = error();
  std::vector<std::size_t> all(rows.observed.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  model.fit(rows.targets, all, 4);
  EXPECT_LT(error(), 0.5 * before);
  EXPECT_LT(model.length_scale(0), model.length_scale(1));
  EXPECT_LT(model.length_scale(1), model.length_scale(2));
  EXPECT_LT(model.noise(), 1e-2);
}

TEST(GaussianProcess, SurvivesRepeatedRows) {
  const Rows rows = make_rows(5, 0);
  GaussianProcess model(rows.columns);
  model.add_candidate(rows.observed[0]);
  std::vector<double> targets;
  for (int i = 0; i < 40; ++i) {
    model.observe(rows.observed[0]);
    targets.push_back(2.0);
  }
  model.set_targets(targets);
  EXPECT_NEAR(model.mean(0), 2.0, 1e-6);
  EXPECT_GE(model.deviation(0), 0);
}

TEST(PoolSurrogate, PrefersWhatItsMeasurementsPointTo) {
  // Fast near 12; failures and slow ones elsewhere.
  const FakeSpace space({{"a", {{"x", range(0, 40)}}, {}}});
  PoolSurrogate surrogate(space, {50, 100}, RandomStream(1));
  for (std::int32_t x = 0; x <= 40; ++x) surrogate.offer(std::vector<Candidate>{{0, {x}}});
  EXPECT_EQ(surrogate.pool_size(), 41u);
  EXPECT_FALSE(surrogate.ready());
  const auto seconds = [](std::int32_t x) { return 1e-3 * (1 + 0.02 * (x - 12) * (x - 12)); };
  for (const std::int32_t x : {0, 8, 20, 32}) surrogate.tell({{0, {x}}, true, seconds(x)});
  surrogate.tell({{0, {40}}, false, 0});
  surrogate.tell({{0, {40}}, false, 0});  // again
  EXPECT_EQ(surrogate.pool_size(), 36u);
  int nearest = 40;
  for (int i = 0; i < 8; ++i) {
    const std::optional<Candidate> next = surrogate.most_promising();
    ASSERT_TRUE(next.has_value());
    nearest = std::min(nearest, std::abs(next->choice[0] - 12));
    surrogate.tell({*next, true, seconds(next->choice[0])});
  }
  EXPECT_EQ(nearest, 0);
  // What is assumed or told leaves the pool and does not come back.
  const std::size_t left = surrogate.pool_size();
  const Candidate next = *surrogate.most_promising();
  surrogate.assume(next);
  surrogate.offer({&next, 1});
  EXPECT_EQ(surrogate.pool_size(), left - 1);
  EXPECT_NE(*surrogate.most_promising(), next);
}

TEST(PoolSurrogate, ChoosesAmongSome) {
  const FakeSpace space({{"a", {{"x", range(0, 40)}}, {}}});
  PoolSurrogate surrogate(space, {50, 100}, RandomStream(1));
  for (std::int32_t x = 0; x <= 40; ++x) surrogate.offer(std::vector<Candidate>{{0, {x}}});
  for (const std::int32_t x : {0, 10, 20, 30, 40}) surrogate.tell({{0, {x}}, true, 1e-3 * (1 + 0.1 * x)});
  EXPECT_EQ(surrogate.most_promising({{0, {5}}, {0, {35}}, {0, {10}}}), (Candidate{0, {5}})) << "10 was measured";
  EXPECT_EQ(surrogate.most_promising({{0, {30}}}), std::nullopt);
}

// The prior is wrong by a factor everywhere, and by much more in one place.
TEST(PoolSurrogate, LearnsWhatItsPriorMisses) {
  class Slope : public Prior {
    std::vector<double> log_seconds(std::span<const Candidate> candidates) override {
      std::vector<double> result;
      for (const Candidate& candidate : candidates) result.push_back(std::log(1 + 0.1 * candidate.choice[0]));
      return result;
    }
  };
  const FakeSpace space({{"a", {{"x", range(0, 40)}}, {}}});
  Slope prior;
  PoolSurrogate surrogate(space, {50, 100}, RandomStream(1), &prior);
  for (std::int32_t x = 0; x <= 40; ++x) surrogate.offer(std::vector<Candidate>{{0, {x}}});
  EXPECT_EQ(surrogate.believed_fastest(), (Candidate{0, {0}}));
  const auto seconds = [](std::int32_t x) { return (x < 10 ? 50e-3 : 1e-3) * (1 + 0.1 * x); };
  int best = 40;
  for (int i = 0; i < 12; ++i) {
    const std::optional<Candidate> next = i < 4 ? surrogate.believed_fastest() : surrogate.most_promising();
    ASSERT_TRUE(next.has_value());
    const std::int32_t x = next->choice[0];
    if (x >= 10) best = std::min(best, static_cast<int>(x));
    surrogate.tell({*next, true, seconds(x)});
  }
  EXPECT_LE(best, 12) << "it leaves the place where the prior was wrong";
}

TEST(PoolSurrogate, ABatchSpreads) {
  const FakeSpace space = toy_matmul();
  const SpaceIndex index(space);
  RandomStream random(3);
  PoolSurrogate surrogate(space, {400, 60}, RandomStream(1));
  for (int i = 0; i < 100; ++i) {  // more than the model may hold
    const Candidate candidate = index.sample(random);
    surrogate.tell({candidate, true, toy_seconds(space, candidate)});
  }
  for (int i = 0; i < 900; ++i) surrogate.offer(std::vector<Candidate>{index.sample(random)});
  CandidateSet batch;
  for (int i = 0; i < 16; ++i) {
    const Candidate next = *surrogate.most_promising();
    EXPECT_TRUE(batch.insert(next).second);
    surrogate.assume(next);
  }
  EXPECT_LE(surrogate.pool_size(), 500u);
}

TEST(PoolSurrogate, AnEmptyPoolHasNothingToOffer) {
  const FakeSpace space({{"a", {{"x", range(0, 2)}}, {}}});
  PoolSurrogate surrogate(space, {10, 10}, RandomStream(1));
  surrogate.tell({{0, {1}}, true, 1.0});
  EXPECT_EQ(surrogate.most_promising(), std::nullopt);
}

}  // namespace
}  // namespace temper::search
