#include "temper/cost/model_scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "search/toy_space.h"
#include "temper/cost/metrics.h"
#include "temper/search/enumeration.h"
#include "temper/support/error.h"

namespace temper::cost {
namespace {

using search::Candidate;
using search::FakeSpace;
using search::SpaceIndex;
using search::Told;

/// A prediction that sees the register tile but none of the rest.
Analysis rough_analysis(const search::Space& space, const Candidate& candidate) {
  const std::vector<std::int64_t> v = search::values(space, candidate);
  Analysis analysis;
  analysis.seconds = 1e-3 * (1 + 0.5 * std::pow(std::log2(static_cast<double>(v[0] * v[1]) / 24.0), 2));
  return analysis;
}

ModelScorer make_scorer(const search::Space& space, Analyse analyse = {}, std::uint64_t seed = 1,
                        search::OptionValues options = {}) {
  return ModelScorer(FeatureExtractor(space), make_cost_model("xgboost", {.seed = seed}), std::move(analyse), options);
}

std::vector<Candidate> sample(const SpaceIndex& index, std::uint64_t seed, int count) {
  RandomStream random(seed);
  std::vector<Candidate> result;
  for (int i = 0; i < count; ++i) result.push_back(index.sample(random));
  return result;
}
std::vector<Told> measure(const search::Space& space, const std::vector<Candidate>& candidates) {
  std::vector<Told> told;
  for (const Candidate& candidate : candidates)
    told.push_back({candidate, true, search::toy_seconds(space, candidate)});
  return told;
}
double accuracy(const search::Space& space, ModelScorer& scorer, const std::vector<Candidate>& candidates) {
  std::vector<double> actual;
  for (const Candidate& candidate : candidates) actual.push_back(1 / search::toy_seconds(space, candidate));
  return pairwise_accuracy(scorer.score(candidates), actual);
}

TEST(ModelScorer, TheAnalysisRanksTheFirstBatch) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  const std::vector<Candidate> test = sample(index, 2, 300);
  ModelScorer without = make_scorer(space);
  EXPECT_DOUBLE_EQ(accuracy(space, without, test), 0.5);  // nothing is known: all equal
  ModelScorer with = make_scorer(space, [&](const Candidate& c) { return rough_analysis(space, c); });
  EXPECT_FALSE(with.learned());
  EXPECT_GT(accuracy(space, with, test), 0.75);
}

TEST(ModelScorer, LearnsBeyondTheAnalysis) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  const std::vector<Candidate> test = sample(index, 2, 300);
  ModelScorer with = make_scorer(space, [&](const Candidate& c) { return rough_analysis(space, c); });
  ModelScorer without = make_scorer(space);
  const double before = accuracy(space, with, test);
  const std::vector<Told> told = measure(space, sample(index, 1, 200));
  with.tell(told);
  without.tell(told);
  const double after = accuracy(space, with, test), alone = accuracy(space, without, test);
  EXPECT_TRUE(with.learned());
  EXPECT_GT(after, before + 0.05);
  EXPECT_GT(after, 0.9);
  EXPECT_GT(alone, 0.85);
  EXPECT_GT(with.analysis_weight(), 0.5);
}

TEST(ModelScorer, ThreadsDoNotChangeTheScores) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  const std::vector<Candidate> test = sample(index, 2, 300);
  const std::vector<Told> told = measure(space, sample(index, 1, 50));
  std::vector<std::vector<double>> before, after;
  for (const int threads : {1, 4}) {
    const auto analyse = [&](const Candidate& c) { return rough_analysis(space, c); };
    ModelScorer scorer(FeatureExtractor(space), make_cost_model("xgboost", {}), analyse, {}, nullptr, threads);
    before.push_back(scorer.score(test));
    scorer.tell(told);
    after.push_back(scorer.score(test));
  }
  EXPECT_EQ(before[0], before[1]);
  EXPECT_EQ(after[0], after[1]);
}

TEST(ModelScorer, WeighsAWrongAnalysisDown) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  const std::vector<Candidate> test = sample(index, 2, 300);
  ModelScorer misled = make_scorer(space, [&](const Candidate& c) {
    Analysis analysis = rough_analysis(space, c);
    analysis.seconds = 1e-6 / analysis.seconds;  // the opposite of the truth
    return analysis;
  });
  EXPECT_LT(accuracy(space, misled, test), 0.3);
  misled.tell(measure(space, sample(index, 1, 200)));
  EXPECT_GT(accuracy(space, misled, test), 0.85);
  EXPECT_EQ(misled.analysis_weight(), 0);
}

TEST(ModelScorer, WaitsForEnoughMeasurementsAndTrainsOnNewOnes) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  const std::vector<Candidate> train = sample(index, 1, 40), test = sample(index, 2, 50);
  ModelScorer scorer = make_scorer(space, {}, 1, {{"min_measurements", 20}});
  const std::vector<Told> told = measure(space, train);
  scorer.tell(std::span(told).first(19));
  scorer.score(test);
  EXPECT_FALSE(scorer.learned());
  scorer.tell(std::span(told).first(19));  // the same again: still 19
  scorer.score(test);
  EXPECT_FALSE(scorer.learned());
  scorer.tell(std::span(told).subspan(19, 1));
  const std::vector<double> early = scorer.score(test);
  EXPECT_TRUE(scorer.learned());
  EXPECT_EQ(early, scorer.score(test));
  scorer.tell(std::span(told).subspan(20));
  EXPECT_NE(early, scorer.score(test));
}

TEST(ModelScorer, FailuresRankLast) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  // Whatever unrolls by 8 or more fails.
  const auto fails = [&](const Candidate& candidate) { return search::values(space, candidate)[2] >= 8; };
  std::vector<Told> told = measure(space, sample(index, 1, 300));
  for (Told& one : told) {
    if (fails(one.candidate)) one = {one.candidate, false, 0};
  }
  ModelScorer scorer = make_scorer(space);
  scorer.tell(told);
  const std::vector<Candidate> test = sample(index, 2, 400);
  const std::vector<double> scores = scorer.score(test);
  std::vector<double> runs;
  for (const Candidate& candidate : test) runs.push_back(fails(candidate) ? 0 : 1);
  EXPECT_GT(pairwise_accuracy(scores, runs), 0.97);
}

TEST(ModelScorer, LearnsNothingWhileEverythingFails) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  ModelScorer scorer = make_scorer(space);
  std::vector<Told> told;
  for (const Candidate& candidate : sample(index, 1, 50)) told.push_back({candidate, false, 0});
  scorer.tell(told);
  for (const double score : scorer.score(sample(index, 2, 20))) EXPECT_TRUE(std::isfinite(score));
  EXPECT_FALSE(scorer.learned());
}

TEST(ModelScorer, WhatCannotBeBuiltScoresMinusInfinityAlways) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  int analysed = 0;
  ModelScorer scorer = make_scorer(space, [&](const Candidate& candidate) {
    ++analysed;
    Analysis analysis = rough_analysis(space, candidate);
    analysis.buildable = candidate.hash() % 2 == 0;
    if (candidate.hash() % 3 == 0) analysis.seconds = std::numeric_limits<double>::quiet_NaN();
    return analysis;
  });
  const std::vector<Candidate> test = sample(index, 2, 100);
  const auto check = [&] {
    const std::vector<double> scores = scorer.score(test);
    for (std::size_t i = 0; i < test.size(); ++i) EXPECT_EQ(std::isfinite(scores[i]), test[i].hash() % 2 == 0);
  };
  check();
  const int before = analysed;
  EXPECT_LE(before, 100);
  scorer.tell(measure(space, sample(index, 1, 100)));
  check();
  EXPECT_TRUE(scorer.learned());
  EXPECT_LE(analysed, before + 100);  // each candidate is analysed once
}

TEST(ModelScorer, SameSeedSameScores) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  const std::vector<Candidate> test = sample(index, 2, 100);
  const auto score = [&](std::uint64_t seed) {
    ModelScorer scorer = make_scorer(space, {}, seed);
    scorer.tell(measure(space, sample(index, 1, 100)));
    return scorer.score(test);
  };
  EXPECT_EQ(score(1), score(1));
  EXPECT_NE(score(1), score(2));
}

/// What was learned from a task with other knob values than those of the test, with knobs alone.
std::shared_ptr<const PretrainedModel> pretrained_on(const search::Space& space, const FeatureExtractor& extractor) {
  const SpaceIndex index(space);
  TrainingSet set{FeatureMatrix(extractor.columns().size()), {}, {}, {}};
  for (const Candidate& candidate : sample(index, 7, 600)) {
    set.features.append(extractor.extract(candidate));
    set.scores.push_back(-std::log(search::toy_seconds(space, candidate)));
  }
  std::shared_ptr<CostModel> model = make_cost_model("xgboost", {});
  model->update(set);
  PretrainedModel::Card card;
  card.columns = extractor.columns();
  return std::make_shared<const PretrainedModel>(card, std::vector<PretrainedModel::Member>{{"xgboost", 1, model}});
}

TEST(ModelScorer, APretrainedModelRanksBeforeAnythingIsMeasured) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  const std::vector<Candidate> test = sample(index, 2, 300);
  ModelScorer scorer(FeatureExtractor(space), make_cost_model("xgboost", {.seed = 1}), {}, {},
                     pretrained_on(space, FeatureExtractor(space)));
  const double before = accuracy(space, scorer, test);
  EXPECT_FALSE(scorer.learned());
  EXPECT_GT(before, 0.85);
  scorer.tell(measure(space, sample(index, 1, 200)));
  EXPECT_GT(accuracy(space, scorer, test), before);
  EXPECT_TRUE(scorer.learned());
  EXPECT_GT(scorer.analysis_weight(), 0.8);
}

TEST(ModelScorer, APretrainedModelWithOtherFeaturesIsRefused) {
  const FakeSpace space = search::toy_matmul();
  const auto model = pretrained_on(space, FeatureExtractor(space, {{"flops", 1.0}}));
  EXPECT_THROW(ModelScorer(FeatureExtractor(space), make_cost_model("xgboost", {}), {}, {}, model), Error);
}

TEST(ModelScorer, AScreenChoosesWhatIsAnalysed) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  int analysed = 0;
  ModelScorer scorer =
      make_scorer(space,
                  [&](const Candidate& candidate) {
                    ++analysed;
                    return rough_analysis(space, candidate);
                  },
                  1, {{"screen_from", 50}, {"screen_sample", 200}, {"screen_share", 0.25}, {"screen_most", 150}});
  scorer.score(sample(index, 1, 200));
  EXPECT_LE(analysed, 200);  // all of them: the screen knows nothing yet
  const int before = analysed;
  std::vector<Candidate> many;
  search::CandidateSet distinct;
  for (const Candidate& candidate : sample(index, 2, 3000)) {
    if (distinct.insert(candidate).second) many.push_back(candidate);
  }
  const std::vector<double> scores = scorer.score(many);
  EXPECT_LE(analysed - before, 150);
  EXPECT_GT(analysed - before, 100);
  // What was not analysed ranks behind what was, and the best by the analysis are among those that were.
  std::vector<double> truth;
  for (const Candidate& candidate : many) truth.push_back(1 / rough_analysis(space, candidate).seconds);
  EXPECT_GT(top_k_score(scores, truth, 20), 0.99);
  EXPECT_GT(pairwise_accuracy(scores, truth), 0.8);
  for (const double score : scores) EXPECT_TRUE(std::isfinite(score));
  EXPECT_EQ(scorer.counts().seen, static_cast<std::int64_t>(200 + many.size()));
  EXPECT_EQ(scorer.counts().analysed, analysed);
}

TEST(ModelScorer, CountsHowOftenItKnewTheFasterOne) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  // The analysis says the opposite of what is told.
  ModelScorer scorer = make_scorer(space, [&](const Candidate& c) {
    Analysis analysis;
    analysis.seconds = 1 / search::toy_seconds(space, c);
    return analysis;
  });
  std::vector<Told> told = measure(space, sample(index, 1, 10));
  scorer.tell(std::span(told).first(2));  // never scored: no prediction to judge
  EXPECT_EQ(scorer.counts().pairs, 0);
  std::vector<Candidate> candidates;
  for (std::size_t i = 2; i < told.size(); ++i) candidates.push_back(told[i].candidate);
  scorer.score(candidates);
  told.back().ok = false;  // a failure has no time
  scorer.tell(std::span(told).subspan(2));
  EXPECT_GT(scorer.counts().pairs, 15);
  EXPECT_LE(scorer.counts().pairs, 21);
  EXPECT_EQ(scorer.counts().right, 0);
  EXPECT_EQ(scorer.counts().hit_rate(), 0);
  scorer.tell(std::span(told).subspan(2));  // the same again counts once
  EXPECT_LE(scorer.counts().pairs, 21);
  EXPECT_EQ(scorer.counts().measured, 10);
}

TEST(ModelScorer, ForgetsWhatWasAskedLongAgo) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  ModelScorer scorer =
      make_scorer(space, [&](const Candidate& c) { return rough_analysis(space, c); }, 1, {{"screen_from", 1e9}});
  const std::vector<Told> told = measure(space, sample(index, 9, 30));
  scorer.tell(told);
  std::vector<Candidate> first;
  for (const Told& one : told) first.push_back(one.candidate);
  const std::vector<double> before = scorer.score(first);
  for (std::uint64_t round = 0; round < 30; ++round) scorer.score(sample(index, 100 + round, 1000));
  EXPECT_EQ(scorer.score(first), before);  // what was measured is still known
}

/// Best time after `trials` measurements, over what is best in the whole space (1 ms).
double tuned(const search::Space& space, std::string_view strategy_name, std::uint64_t seed, int trials,
             bool with_analysis) {
  ModelScorer scorer = make_scorer(
      space, with_analysis ? Analyse([&](const Candidate& c) { return rough_analysis(space, c); }) : Analyse(), seed);
  const bool guided = strategy_name != "random";
  const auto strategy =
      search::make_strategy(strategy_name, {.space = &space, .scorer = guided ? &scorer : nullptr, .seed = seed});
  double best = std::numeric_limits<double>::infinity();
  for (int done = 0; done < trials; done += 16) {
    strategy->set_progress(static_cast<double>(done) / trials);
    std::vector<Told> told;
    for (const Candidate& candidate : strategy->ask(std::min(16, trials - done))) {
      // Noise of a few per cent, and one in ten fails.
      const double noise = 1 + 0.04 * (static_cast<double>(candidate.hash() >> 11) * 0x1.0p-53);
      told.push_back({candidate, candidate.hash() % 10 != 0, search::toy_seconds(space, candidate) * noise});
      if (told.back().ok) best = std::min(best, search::toy_seconds(space, candidate));
    }
    strategy->tell(told);
    scorer.tell(told);
  }
  return best / 1e-3;
}

TEST(ModelScorer, GuidedSearchComesCloseWhereRandomDoesNot) {
  const FakeSpace space = search::toy_matmul();
  const auto median = [&](std::string_view strategy, bool with_analysis) {
    std::vector<double> results;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) results.push_back(tuned(space, strategy, seed, 160, with_analysis));
    std::nth_element(results.begin(), results.begin() + 2, results.end());
    return results[2];
  };
  const double random = median("random", false);
  EXPECT_GT(random, 1.2);
  for (const char* strategy : {"evolutionary", "annealing", "genetic"}) {
    EXPECT_LT(median(strategy, false), 1.1) << strategy;
  }
  EXPECT_LT(median("evolutionary", true), 1.03);
}

TEST(ModelScorer, LearnsAnewWhenTheMeasurementsHaveGrown) {
  const FakeSpace space = search::toy_matmul();
  const SpaceIndex index(space);
  ModelScorer scorer = make_scorer(space, {}, 1, {{"growth", 0.5}});
  const std::vector<Told> told = measure(space, sample(index, 1, 100));
  const std::vector<Candidate> test = sample(index, 2, 50);
  scorer.tell(std::span(told).first(40));
  const std::vector<double> first = scorer.score(test);
  scorer.tell(std::span(told).subspan(40, 15));
  EXPECT_EQ(scorer.score(test), first);
  scorer.tell(std::span(told).subspan(55));
  EXPECT_NE(scorer.score(test), first);
}

TEST(ModelScorer, OfALongRunOnlyWhatWasMeasuredIsRememberedForSure) {
  const FakeSpace space({{"a", {{"x", search::range(1, 200)}, {"y", search::range(1, 100)}}, {}}});
  const SpaceIndex index(space);
  int analysed = 0;
  const auto count = [&](const Candidate&) {
    ++analysed;
    return Analysis{};
  };
  ModelScorer scorer = make_scorer(space, count, 0, {{"screen_from", 1e9}});
  constexpr int kScored = 18'000;
  std::vector<Candidate> candidates;
  for (std::uint64_t i = 0; i < kScored; ++i) candidates.push_back(index.at(i));
  scorer.score(candidates);
  EXPECT_EQ(analysed, kScored);
  const Told told{candidates[7], true, 1e-3};
  scorer.tell({&told, 1});
  scorer.score({&candidates[7], 1});
  EXPECT_EQ(analysed, kScored);
  scorer.score({&candidates[8], 1});
  EXPECT_EQ(analysed, kScored + 1);
}

}  // namespace
}  // namespace temper::cost
