// Search strategies on recorded spaces: whose best time falls faster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <filesystem>

#include "temper/app/comparison_report.h"
#include "temper/app/options.h"
#include "temper/app/recorded_prior.h"
#include "temper/app/session.h"
#include "temper/runtime/thread_pool.h"
#include "temper/space/recorded/recorded_space.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"
#include "temper/support/output_file.h"

namespace temper::app {

namespace {

namespace recorded = space::recorded;

struct CompareOptions {
  std::vector<std::string> spaces, more_spaces, strategies, strategy_options, learn_from;
  std::string csv, svg;
  search::ComparisonOptions comparison;
};

/// STRATEGY.NAME=NUMBER, into the strategy that it names.
void add_option(std::vector<search::ComparedStrategy>& strategies, const std::string& text) {
  const std::size_t dot = text.find('.'), equals = text.find('=');
  char* end = nullptr;
  const double value = equals == std::string::npos ? 0 : std::strtod(text.c_str() + equals + 1, &end);
  if (dot == std::string::npos || equals == std::string::npos || dot > equals || *end != '\0' ||
      equals + 1 == text.size()) {
    throw Error(ErrorCode::InvalidArgument, "'" + text + "' is no option of a strategy", "--option",
                "write STRATEGY.NAME=NUMBER: genetic.population=20");
  }
  const std::string name = text.substr(0, dot);
  bool found = false;
  for (search::ComparedStrategy& strategy : strategies) {
    if (strategy.name != name) continue;
    strategy.options[text.substr(dot + 1, equals - dot - 1)] = value;
    found = true;
  }
  if (!found) {
    throw Error(ErrorCode::InvalidArgument, "'" + name + "' is not among the compared strategies", "--option",
                "name it in --strategy too");
  }
}

std::vector<search::ComparedStrategy> compared_strategies(const CompareOptions& o) {
  std::vector<search::ComparedStrategy> strategies;
  for (const std::string& name : o.strategies) {
    const bool known = std::any_of(strategies.begin(), strategies.end(), [&](const auto& s) { return s.name == name; });
    if (known) throw Error(ErrorCode::InvalidArgument, "'" + name + "' is named twice", "--strategy", "name it once");
    strategies.push_back({name});
  }
  if (strategies.empty()) {
    for (const search::StrategyInfo& info : search::strategies()) strategies.push_back({info.name});
  }
  for (const std::string& text : o.strategy_options) add_option(strategies, text);
  return strategies;
}

/// What recordings say of other recordings' spaces.
class Priors {
 public:
  /// Throws what reading throws.
  explicit Priors(const std::vector<std::string>& files) {
    const std::vector<std::filesystem::path> paths(files.begin(), files.end());
    if (!paths.empty()) recordings_ = recorded::read_recordings(paths);
    used_.resize(recordings_.size());
  }

  /// Empty where none of them has the space's parameters. Kept as long as this.
  std::span<const double> of(const recorded::RecordedSpace& space) {
    std::vector<const recorded::Recording*> sources;
    for (std::size_t i = 0; i < recordings_.size(); ++i) {
      const recorded::Recording& source = recordings_[i];
      if (!same_parameters(source, space.recording())) continue;
      const bool succeeded =
          std::any_of(source.entries.begin(), source.entries.end(),
                      [](const recorded::Entry& entry) { return entry.failure == record::FailureKind::None; });
      if (!succeeded) {
        throw Error(ErrorCode::InvalidArgument, "there is no success to learn from", source.name,
                    "leave the file out of --learn-from");
      }
      used_[i] = true;
      sources.push_back(&source);
    }
    if (sources.empty()) return {};
    return priors_.emplace_back(learned_prior(sources, space));
  }

  /// Throws unless each recording was of use.
  void require_used() const {
    for (std::size_t i = 0; i < recordings_.size(); ++i) {
      if (used_[i]) continue;
      throw Error(ErrorCode::InvalidArgument, "no compared space has the parameters of '" + recordings_[i].name + "'",
                  "--learn-from", "name recordings of the same kernel on another device");
    }
  }

 private:
  std::vector<recorded::Recording> recordings_;
  std::vector<bool> used_;
  std::deque<std::vector<double>> priors_;
};

/// What is learned from may not be what is searched: the score would mean nothing.
void refuse_learning_by_heart(const std::vector<std::string>& learn_from,
                              const std::vector<std::filesystem::path>& spaces) {
  for (const std::string& source : learn_from) {
    for (const std::filesystem::path& space : spaces) {
      std::error_code missing;
      if (!std::filesystem::equivalent(source, space, missing)) continue;
      throw Error(ErrorCode::InvalidArgument, "a space is searched with what was learned from itself",
                  "--learn-from " + source, "learn from another device's recording");
    }
  }
}

void write_file(const std::string& path, const std::string& what, const std::string& text) {
  if (path.empty()) return;
  OutputFile file(path, what);
  file.write(text);
  file.keep();
}

/// Shows how far a comparison is: after each run on a terminal, after each strategy on each space elsewhere.
class ComparisonView {
 public:
  ComparisonView(Session& session, int repeats) : session_(session), repeats_(repeats), started_(clock_.seconds()) {}

  void show(const search::ComparisonStatus& status) {
    const double now = clock_.seconds();
    const bool ended = status.runs == repeats_;
    if (!ended && (!session_.terminal() || now < shown_ + kSecondsBetween)) return;
    shown_ = now;
    const double each = (now - started_) / status.runs_in_all;
    session_.live(fmt::format("{}: {} {:.3f}, {} of {} runs; {:.0f}% of all, {:.0f} s left", status.space,
                              status.strategy, status.score, status.runs, repeats_,
                              100.0 * status.runs_in_all / status.all, each * (status.all - status.runs_in_all)),
                  false);
  }

 private:
  static constexpr double kSecondsBetween = 0.2;
  Session& session_;
  int repeats_;
  SystemClock clock_;
  double started_, shown_ = 0;
};

nlohmann::json compare(Session& s, const CompareOptions& o) {
  std::vector<std::filesystem::path> files(o.spaces.begin(), o.spaces.end());
  files.insert(files.end(), o.more_spaces.begin(), o.more_spaces.end());
  if (files.empty()) {
    throw Error(ErrorCode::InvalidArgument, "there is nothing to compare on", "--space",
                "name recordings: --space FILE...");
  }
  for (const std::string& output : {o.csv, o.svg}) {
    for (const std::filesystem::path& file : files) {
      if (!output.empty()) refuse_overwriting(file, output);
    }
  }
  const std::vector<search::ComparedStrategy> strategies = compared_strategies(o);
  refuse_learning_by_heart(o.learn_from, files);
  Priors priors(o.learn_from);
  std::deque<recorded::RecordedSpace> spaces;
  std::vector<search::ReplayedSpace> replayed;
  nlohmann::json notes = nlohmann::json::object();
  for (recorded::Recording& recording : recorded::read_recordings(files)) {
    const std::string name = recording.name;
    for (const std::string& note : recording.notes) s.progress(name + ": " + note);
    if (notes.contains(name)) {
      throw Error(ErrorCode::InvalidArgument, "two recordings are named '" + name + "'", "--space",
                  "rename one of the files");
    }
    notes[name] = recording.notes;
    replayed.push_back(spaces.emplace_back(std::move(recording)).replayed());
  }
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    replayed[i].prior = priors.of(spaces[i]);
    if (!replayed[i].prior.empty())
      s.progress(replayed[i].name + ": searched with what was learned from other recordings");
  }
  priors.require_used();
  ComparisonView view(s, o.comparison.repeats);
  const search::Comparison comparison =
      search::compare_strategies(replayed, strategies, o.comparison, s.cancellation,
                                 [&](const search::ComparisonStatus& status) { view.show(status); });
  s.progress(
      fmt::format("{} strategies on {} spaces, {} runs each", strategies.size(), spaces.size(), o.comparison.repeats));
  s.print(comparison_table(comparison, o.comparison));
  write_file(o.csv, "the curves", comparison_csv(comparison));
  write_file(o.svg, "the picture", comparison_svg(comparison, o.comparison));
  nlohmann::json result = comparison_json(comparison, o.comparison);
  result["notes"] = notes;
  return result;
}

}  // namespace

void declare_compare(CLI::App& command, Session& session) {
  auto o = std::make_shared<CompareOptions>();
  command.add_option("--space", o->spaces,
                     "Recordings (T4 results or caches of Kernel Tuner, plain or gzip) and, if wanted, T1 descriptions "
                     "of their spaces");
  command.add_option("FILE", o->more_spaces, "More of them");
  command
      .add_option("--strategy", o->strategies,
                  "What to compare, separated by commas; default: all of " + strategy_names())
      ->delimiter(',');
  describe_strategies(command);
  command.add_option("--learn-from", o->learn_from,
                     "Recordings of the same kernels on other devices: what they say is known before the search, to "
                     "strategies that learn a model of the knobs");
  command.add_option("--option", o->strategy_options, "An option of a strategy: STRATEGY.NAME=NUMBER");
  search::ComparisonOptions& c = o->comparison;
  c.threads = static_cast<int>(runtime::allowed_cpus().size());
  command.add_option("--repeats", c.repeats, "Runs of each strategy on each space, each with a seed of its own")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  declare_seed(command, c.seed, "Where the runs' seeds come from");
  command.add_option("--threads", c.threads, "Threads that share the runs; default: one for each CPU")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      .add_option("--cutoff", c.cutoff,
                  "The budget is what random search needs to come this share of the way from the median to the optimum")
      ->check(CLI::Range(0.01, 0.999))
      ->capture_default_str();
  command.add_option("--max-evaluations", c.most_evaluations, "... and at most so many evaluations")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  command.add_option("--batch", c.batch, "Candidates that a strategy is asked for at once")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command.add_option("--confidence", c.confidence, "Of intervals and bands")
      ->check(CLI::Range(0.5, 0.999))
      ->capture_default_str();
  command.add_option("--csv", o->csv, "Write the curves here");
  command.add_option("--svg", o->svg, "Draw the curves here");
  command.callback([o, &session] { session.action = [o](Session& s) { return compare(s, *o); }; });
}

}  // namespace temper::app
