#include "temper/search/comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>

#include "temper/support/clock.h"
#include "temper/support/error.h"
#include "temper/support/parallel.h"

namespace temper::search {
namespace {

/// The runs of one strategy on one space, as rows of equal length.
struct Runs {
  std::vector<std::vector<double>> over_evaluations, over_time;
};

/// Numbers of runs, drawn with repetition: the same for everything that is resampled together.
using Resample = std::vector<std::uint32_t>;

std::vector<Resample> make_resamples(int count, int runs, RandomStream random) {
  std::vector<Resample> resamples(static_cast<std::size_t>(count));
  for (Resample& resample : resamples) {
    for (int run = 0; run < runs; ++run) {
      resample.push_back(static_cast<std::uint32_t>(random.below(static_cast<std::uint64_t>(runs))));
    }
  }
  return resamples;
}

Estimate interval(double mean, std::vector<double> resampled, double confidence) {
  if (resampled.empty()) return {mean, mean, mean};
  std::sort(resampled.begin(), resampled.end());
  const double tail = (1 - confidence) / 2, last = static_cast<double>(resampled.size() - 1);
  const auto at = [&](double share) { return resampled[static_cast<std::size_t>(std::lround(share * last))]; };
  return {mean, std::min(mean, at(tail)), std::max(mean, at(1 - tail))};
}

/// Mean and band at each column of `rows`.
std::vector<Estimate> estimate_columns(const std::vector<std::vector<double>>& rows,
                                       const std::vector<Resample>& resamples, double confidence) {
  const std::size_t columns = rows.front().size();
  const double count = static_cast<double>(rows.size());
  std::vector<double> mean(columns, 0);
  for (const std::vector<double>& row : rows) {
    for (std::size_t c = 0; c < columns; ++c) mean[c] += row[c] / count;
  }
  std::vector<std::vector<double>> resampled(columns, std::vector<double>(resamples.size()));
  std::vector<double> sum(columns);
  for (std::size_t i = 0; i < resamples.size(); ++i) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (const std::uint32_t run : resamples[i]) {
      const std::vector<double>& row = rows[run];
      for (std::size_t c = 0; c < columns; ++c) sum[c] += row[c];
    }
    for (std::size_t c = 0; c < columns; ++c) resampled[c][i] = sum[c] / count;
  }
  std::vector<Estimate> result;
  for (std::size_t c = 0; c < columns; ++c) result.push_back(interval(mean[c], std::move(resampled[c]), confidence));
  return result;
}

std::vector<double> resampled_means(const std::vector<double>& values, const std::vector<Resample>& resamples) {
  std::vector<double> means;
  for (const Resample& resample : resamples) {
    double sum = 0;
    for (const std::uint32_t run : resample) sum += values[run];
    means.push_back(sum / static_cast<double>(resample.size()));
  }
  return means;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

FairBaseline make_baseline(const ReplayedSpace& space) {
  std::vector<double> seconds;
  for (const Outcome& outcome : space.outcomes) {
    if (outcome.ok) seconds.push_back(outcome.seconds);
  }
  try {
    return {std::move(seconds), space.outcomes.size()};
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), "space '" + space.name + "'", error.hint());
  }
}

/// Best time at each of the evaluations 1..count; what is past the run's end is as at its end.
std::vector<double> row_over_evaluations(const ReplayedRun& run, std::uint64_t count, double worst) {
  std::vector<double> row(static_cast<std::size_t>(count), worst);
  for (std::size_t t = 0; t < row.size(); ++t) {
    const double best = run.best_seconds[std::min(t, run.best_seconds.size() - 1)];
    row[t] = std::min(best, worst);
  }
  return row;
}

/// Best time at each point of time; the worst one before the first evaluation ends.
std::vector<double> row_over_time(const ReplayedRun& run, std::span<const double> points, double worst) {
  std::vector<double> row;
  std::size_t done = 0;
  for (const double point : points) {
    while (done < run.elapsed_seconds.size() && run.elapsed_seconds[done] <= point) ++done;
    row.push_back(done == 0 ? worst : std::min(run.best_seconds[done - 1], worst));
  }
  return row;
}

class OneSpace {
 public:
  OneSpace(const ReplayedSpace& space, const ComparisonOptions& options)
      : space_(space), options_(options), baseline_(make_baseline(space)) {
    SpaceComparison& c = comparison_;
    c.name = space.name;
    c.candidates = baseline_.candidates();
    c.valid = baseline_.valid();
    c.optimum_seconds = baseline_.optimum();
    c.median_seconds = baseline_.median();
    c.target_seconds = baseline_.target(options.cutoff);
    c.budget = std::min({baseline_.budget(options.cutoff), options.most_evaluations, c.candidates});
    double spent = 0;
    for (const Outcome& outcome : space.outcomes) spent += outcome.spent_seconds;
    c.budget_seconds = spent / static_cast<double>(c.candidates) * static_cast<double>(c.budget);
    c.expected_random = baseline_.expected_random(c.budget);
    c.random_score = baseline_.score(c.expected_random);
    if (std::isnan(c.random_score)) {
      throw Error(ErrorCode::Unsupported, "one random evaluation is expected to find the optimum",
                  "space '" + space.name + "'", "the space is too small to compare searches; use another one");
    }
    for (int i = 1; i <= options.time_points; ++i) points_.push_back(c.budget_seconds * i / options.time_points);
  }

  /// `ended(runs, mean score)` is told after each run, by one thread at a time.
  void run(const ComparedStrategy& strategy, const std::vector<Resample>& resamples,
           const CancellationToken& cancellation, const std::function<void(int, double)>& ended) {
    StrategyOnSpace result;
    Runs runs;
    const auto repeats = static_cast<std::size_t>(options_.repeats);
    runs.over_evaluations.resize(repeats);
    runs.over_time.resize(repeats);
    result.scores.resize(repeats);
    std::mutex mutex;
    double seconds = 0, sum_of_scores = 0;
    std::size_t evaluations = 0;
    int done = 0;
    const RandomStream seeds = RandomStream(options_.seed).fork(space_.name);
    share_among_threads(options_.repeats, options_.threads, [&](int repeat) {
      cancellation.throw_if_requested();
      const SystemClock clock;
      const std::uint64_t seed = seeds.fork(static_cast<std::uint64_t>(repeat)).next();
      const double started = clock.seconds();
      const ReplayedRun run = replay(strategy.name, {.seed = seed, .options = strategy.options}, space_,
                                     {comparison_.budget, comparison_.budget_seconds, options_.batch});
      const double took = clock.seconds() - started;
      const auto at = static_cast<std::size_t>(repeat);
      runs.over_evaluations[at] = row_over_evaluations(run, comparison_.budget, baseline_.worst());
      runs.over_time[at] = row_over_time(run, points_, baseline_.worst());
      result.scores[at] = baseline_.score(runs.over_evaluations[at]);
      const std::scoped_lock lock(mutex);
      seconds += took;
      evaluations += run.best_seconds.size();
      sum_of_scores += result.scores[at];
      ++done;
      ended(done, sum_of_scores / done);
    });
    for (const std::vector<double>& row : runs.over_evaluations) {
      result.reached += row.back() <= comparison_.target_seconds ? 1.0 / options_.repeats : 0;
      result.final_seconds += row.back() / options_.repeats;
    }
    result.score = interval(mean_of(result.scores), resampled_means(result.scores, resamples), options_.confidence);
    for (std::uint64_t t = 1; t <= comparison_.budget; ++t) {
      result.over_evaluations.x.push_back(static_cast<double>(t));
    }
    result.over_evaluations.best_seconds = estimate_columns(runs.over_evaluations, resamples, options_.confidence);
    result.over_time.x = points_;
    result.over_time.best_seconds = estimate_columns(runs.over_time, resamples, options_.confidence);
    result.evaluations_per_second = seconds > 0 ? static_cast<double>(evaluations) / seconds : 0;
    comparison_.strategies.push_back(std::move(result));
  }

  SpaceComparison take() { return std::move(comparison_); }

 private:
  const ReplayedSpace& space_;
  const ComparisonOptions& options_;
  FairBaseline baseline_;
  std::vector<double> points_;  ///< of time
  SpaceComparison comparison_;
};

/// Mean over the spaces, with the interval that follows from resampling the runs of each.
Estimate overall_score(const std::vector<SpaceComparison>& spaces, std::size_t strategy,
                       const std::vector<std::vector<Resample>>& resamples, double confidence) {
  std::vector<double> means, resampled(resamples.front().size(), 0);
  for (std::size_t s = 0; s < spaces.size(); ++s) {
    const StrategyOnSpace& result = spaces[s].strategies[strategy];
    means.push_back(result.score.mean);
    const std::vector<double> own = resampled_means(result.scores, resamples[s]);
    for (std::size_t i = 0; i < own.size(); ++i) resampled[i] += own[i] / static_cast<double>(spaces.size());
  }
  return interval(mean_of(means), std::move(resampled), confidence);
}

std::vector<PairTest> test_pairs(const std::vector<SpaceComparison>& spaces, std::size_t strategies) {
  std::vector<PairTest> pairs;
  std::vector<double> p_values;
  for (std::size_t a = 0; a < strategies; ++a) {
    for (std::size_t b = a + 1; b < strategies; ++b) {
      std::vector<RankedGroups> strata;
      for (const SpaceComparison& space : spaces) {
        strata.push_back({space.strategies[a].scores, space.strategies[b].scores});
      }
      pairs.push_back({a, b, rank_test(strata), 1});
      p_values.push_back(pairs.back().test.p_value);
    }
  }
  const std::vector<double> corrected = holm_corrected(p_values);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].corrected_p_value = corrected[i];
  return pairs;
}

}  // namespace

Comparison compare_strategies(std::span<const ReplayedSpace> spaces, std::span<const ComparedStrategy> strategies,
                              const ComparisonOptions& options, const CancellationToken& cancellation,
                              const ComparisonProgress& progress) {
  TEMPER_CHECK(!spaces.empty() && !strategies.empty() && options.repeats > 0 && options.time_points > 0,
               "a comparison needs spaces, strategies, repeats and points of time");
  Comparison comparison;
  for (const ComparedStrategy& strategy : strategies) comparison.strategies.push_back(strategy.name);
  std::vector<std::vector<Resample>> resamples;
  ComparisonStatus status;
  status.all = static_cast<int>(spaces.size() * strategies.size()) * options.repeats;
  for (const ReplayedSpace& space : spaces) {
    OneSpace one(space, options);
    resamples.push_back(make_resamples(options.resamples, options.repeats,
                                       RandomStream(options.seed).fork("resamples").fork(space.name)));
    for (const ComparedStrategy& strategy : strategies) {
      one.run(strategy, resamples.back(), cancellation, [&](int runs, double score) {
        ++status.runs_in_all;
        status.space = space.name, status.strategy = strategy.name;
        status.runs = runs, status.score = score;
        if (progress) progress(status);
      });
    }
    comparison.spaces.push_back(one.take());
    comparison.random_score += comparison.spaces.back().random_score / static_cast<double>(spaces.size());
  }
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    comparison.scores.push_back(overall_score(comparison.spaces, i, resamples, options.confidence));
  }
  comparison.pairs = test_pairs(comparison.spaces, strategies.size());
  return comparison;
}

}  // namespace temper::search
