#include "temper/app/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "temper/app/curve_plot.h"
#include "temper/app/options.h"

namespace temper::app {

namespace {

constexpr const char* kExpectedRandom = "random (expected)";

/// Positions of the strategies, the best score first.
template <class Score>
std::vector<std::size_t> best_first(std::size_t count, Score score) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score(a) > score(b); });
  return order;
}

std::string percent(double share) { return fmt::format("{:.0f}%", 100 * share); }

std::string p_text(double p) { return p < 1e-4 ? "p < 0.0001" : fmt::format("p = {:.4f}", p); }

std::string interval_text(const search::Estimate& e) { return fmt::format("{:.3f} .. {:.3f}", e.low, e.high); }

std::string space_table(const search::Comparison& comparison, const search::SpaceComparison& space,
                        const search::ComparisonOptions& options) {
  std::string text = fmt::format("{}: {} configurations, {} valid; best {}, median {}\nbudget {} evaluations",
                                 space.name, space.candidates, space.valid, seconds_text(space.optimum_seconds),
                                 seconds_text(space.median_seconds), space.budget);
  if (space.budget_seconds > 0) text += fmt::format(", {:.0f} s of simulated time", space.budget_seconds);
  text += fmt::format("; target {}\n", seconds_text(space.target_seconds));
  text += fmt::format("  {:<20} {:>7}  {:<17} {:>12} {:>8} {:>14}\n", "strategy", "score",
                      percent(options.confidence) + " interval", "at the end", "reached", "evaluations/s");
  const auto order = best_first(space.strategies.size(), [&](std::size_t i) { return space.strategies[i].score.mean; });
  for (const std::size_t i : order) {
    const search::StrategyOnSpace& s = space.strategies[i];
    text += fmt::format("  {:<20} {:>7.3f}  {:<17} {:>12} {:>8} {:>14.0f}\n", comparison.strategies[i], s.score.mean,
                        interval_text(s.score), seconds_text(s.final_seconds), percent(s.reached),
                        s.evaluations_per_second);
  }
  text += fmt::format("  {:<20} {:>7.3f}  {:<17} {:>12}\n\n", kExpectedRandom, space.random_score, "",
                      seconds_text(space.expected_random.back()));
  return text;
}

nlohmann::json estimate_json(const search::Estimate& e) { return {{"mean", e.mean}, {"low", e.low}, {"high", e.high}}; }

nlohmann::json curve_json(const search::Curve& curve) {
  nlohmann::json mean = nlohmann::json::array(), low = mean, high = mean;
  for (const search::Estimate& e : curve.best_seconds) {
    mean.push_back(e.mean);
    low.push_back(e.low);
    high.push_back(e.high);
  }
  return {{"x", curve.x}, {"mean_seconds", mean}, {"low_seconds", low}, {"high_seconds", high}};
}

nlohmann::json space_json(const search::Comparison& comparison, const search::SpaceComparison& space) {
  nlohmann::json strategies = nlohmann::json::array();
  for (std::size_t i = 0; i < space.strategies.size(); ++i) {
    const search::StrategyOnSpace& s = space.strategies[i];
    strategies.push_back({{"name", comparison.strategies[i]},
                          {"score", estimate_json(s.score)},
                          {"scores", s.scores},
                          {"final_seconds", s.final_seconds},
                          {"reached", s.reached},
                          {"evaluations_per_second", s.evaluations_per_second},
                          {"over_evaluations", curve_json(s.over_evaluations)},
                          {"over_time", space.budget_seconds > 0 ? curve_json(s.over_time) : nlohmann::json()}});
  }
  return {{"name", space.name},
          {"configurations", space.candidates},
          {"valid", space.valid},
          {"optimum_seconds", space.optimum_seconds},
          {"median_seconds", space.median_seconds},
          {"target_seconds", space.target_seconds},
          {"budget_evaluations", space.budget},
          {"budget_seconds", space.budget_seconds},
          {"random_expected_score", space.random_score},
          {"random_expected_seconds", space.expected_random},
          {"strategies", strategies}};
}

/// A field of a CSV line; quoted where it must be.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_curve(const std::string& space, const std::string& strategy, const char* axis,
                      const search::Curve& curve) {
  std::string text;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const search::Estimate& e = curve.best_seconds[i];
    text += fmt::format("{},{},{},{},{},{},{}\n", csv_field(space), csv_field(strategy), axis, curve.x[i], e.mean,
                        e.low, e.high);
  }
  return text;
}

PlotSeries plot_series(const std::string& name, const search::Curve& curve, double optimum) {
  PlotSeries series{name, curve.x, {}};
  for (const search::Estimate& e : curve.best_seconds) {
    series.y.push_back(e.mean / optimum);
    series.low.push_back(e.low / optimum);
    series.high.push_back(e.high / optimum);
  }
  return series;
}

}  // namespace

std::string comparison_table(const search::Comparison& comparison, const search::ComparisonOptions& options) {
  std::string text;
  for (const search::SpaceComparison& space : comparison.spaces) text += space_table(comparison, space, options);
  const std::size_t count = comparison.strategies.size();
  if (comparison.spaces.size() > 1) {
    text += fmt::format("mean over {} spaces, {} runs each\n", comparison.spaces.size(), options.repeats);
    for (const std::size_t i : best_first(count, [&](std::size_t s) { return comparison.scores[s].mean; })) {
      text += fmt::format("  {:<20} {:>7.3f}  {}\n", comparison.strategies[i], comparison.scores[i].mean,
                          interval_text(comparison.scores[i]));
    }
    text += fmt::format("  {:<20} {:>7.3f}\n\n", kExpectedRandom, comparison.random_score);
  }
  if (!comparison.pairs.empty()) text += "rank test of the scores, corrected for the number of pairs\n";
  for (const search::PairTest& pair : comparison.pairs) {
    const bool first_leads = pair.test.superiority >= 0.5;
    const std::size_t better = first_leads ? pair.first : pair.second, other = first_leads ? pair.second : pair.first;
    const double share = first_leads ? pair.test.superiority : 1 - pair.test.superiority;
    text += fmt::format("  {} before {} in {} of the pairs of runs, {}\n", comparison.strategies[better],
                        comparison.strategies[other], percent(share), p_text(pair.corrected_p_value));
  }
  return text;
}

nlohmann::json comparison_json(const search::Comparison& comparison, const search::ComparisonOptions& options) {
  nlohmann::json spaces = nlohmann::json::array(), scores = nlohmann::json::array(), pairs = nlohmann::json::array();
  for (const search::SpaceComparison& space : comparison.spaces) spaces.push_back(space_json(comparison, space));
  for (std::size_t i = 0; i < comparison.strategies.size(); ++i) {
    scores.push_back({{"name", comparison.strategies[i]}, {"score", estimate_json(comparison.scores[i])}});
  }
  for (const search::PairTest& pair : comparison.pairs) {
    pairs.push_back({{"first", comparison.strategies[pair.first]},
                     {"second", comparison.strategies[pair.second]},
                     {"superiority", pair.test.superiority},
                     {"p_value", pair.test.p_value},
                     {"corrected_p_value", pair.corrected_p_value}});
  }
  return {{"repeats", options.repeats},
          {"seed", options.seed},
          {"cutoff", options.cutoff},
          {"batch", options.batch},
          {"confidence", options.confidence},
          {"strategies", scores},
          {"random_expected_score", comparison.random_score},
          {"rank_tests", pairs},
          {"spaces", spaces}};
}

std::string comparison_csv(const search::Comparison& comparison) {
  std::string text = "space,strategy,axis,x,mean_seconds,low_seconds,high_seconds\n";
  for (const search::SpaceComparison& space : comparison.spaces) {
    search::Curve expected;
    for (std::size_t t = 0; t < space.expected_random.size(); ++t) {
      expected.x.push_back(static_cast<double>(t + 1));
      expected.best_seconds.push_back({space.expected_random[t], space.expected_random[t], space.expected_random[t]});
    }
    text += csv_curve(space.name, kExpectedRandom, "evaluations", expected);
    for (std::size_t i = 0; i < space.strategies.size(); ++i) {
      const std::string& name = comparison.strategies[i];
      text += csv_curve(space.name, name, "evaluations", space.strategies[i].over_evaluations);
      if (space.budget_seconds > 0) text += csv_curve(space.name, name, "seconds", space.strategies[i].over_time);
    }
  }
  return text;
}

std::string comparison_svg(const search::Comparison& comparison, const search::ComparisonOptions& options) {
  std::vector<PlotPanel> panels;
  for (const search::SpaceComparison& space : comparison.spaces) {
    // The first few evaluations are far above all that is of interest.
    const std::size_t early = std::min<std::size_t>(5, space.expected_random.size()) - 1;
    const double limit = space.expected_random[early] / space.optimum_seconds;
    PlotPanel evaluations{space.name, "evaluations", "best time / optimum", {}, limit};
    PlotPanel time{space.name, "simulated seconds", "best time / optimum", {}, limit};
    for (std::size_t i = 0; i < space.strategies.size(); ++i) {
      const search::StrategyOnSpace& s = space.strategies[i];
      evaluations.series.push_back(plot_series(comparison.strategies[i], s.over_evaluations, space.optimum_seconds));
      if (space.budget_seconds > 0) {
        time.series.push_back(plot_series(comparison.strategies[i], s.over_time, space.optimum_seconds));
      }
    }
    PlotSeries expected{.name = kExpectedRandom, .x = {}, .y = {}, .dashed = true};
    for (std::size_t t = 0; t < space.expected_random.size(); ++t) {
      expected.x.push_back(static_cast<double>(t + 1));
      expected.y.push_back(space.expected_random[t] / space.optimum_seconds);
    }
    evaluations.series.push_back(std::move(expected));
    panels.push_back(std::move(evaluations));
    if (time.series.empty()) time.title += ": the recording has no times of evaluations";
    panels.push_back(std::move(time));
  }
  return plot_svg(
      fmt::format("{} runs each, bands hold the mean with {}", options.repeats, percent(options.confidence)), panels,
      2);
}

}  // namespace temper::app
