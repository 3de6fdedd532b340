#include "temper/app/whole_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "temper/app/exclusive.h"
#include "temper/app/model_race.h"
#include "temper/app/options.h"
#include "temper/app/side_report.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"
#include "temper/tune/lookup.h"

namespace temper::app {
namespace {

/// Plans of one model: kernels that several of them use are compiled once.
class Plans {
 public:
  Plans(const Model& model, const store::Store& store, const target::Target& target, const ModelOptions& work,
        CancellationToken cancellation)
      : model_(model), store_(store), target_(target), work_(work), cancellation_(std::move(cancellation)) {}

  void add(std::string name, const graph::Layouts& layouts, tune::Mode mode) {
    std::map<std::string, tune::Built>& known = built_[mode];
    BuiltModel built = build_model(model_.program(layouts), target_, work_.threads, [&](const tune::Task& task) {
      cancellation_.throw_if_requested();
      const std::string key = task.key.text();
      if (!known.contains(key)) {
        known[key] = build_between_timings(cancellation_, [&] {
          return tune::artifact_for(&store_, task, target_, mode, space::builtin_templates(), work_.max_error);
        });
      }
      return known[key];
    });
    plans_.push_back({std::move(name), std::make_shared<const runtime::Plan>(std::move(built.plan))});
  }
  const std::vector<NamedPlan>& plans() const { return plans_; }

 private:
  const Model& model_;
  const store::Store& store_;
  const target::Target& target_;
  const ModelOptions& work_;
  CancellationToken cancellation_;
  std::map<tune::Mode, std::map<std::string, tune::Built>> built_;
  std::vector<NamedPlan> plans_;
};

/// "c0=nhwc,c3=nchw": the layouts of the rivals.
std::string rivals_text(const tune::ModelLayouts& layouts, const graph::Layouts& chosen) {
  std::string text;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (layouts.choices()[i].rivals.empty()) continue;
    text += fmt::format("{}c{}={}", text.empty() ? "" : ",", i, ops::to_string(chosen[i]));
  }
  return text;
}

record::Measurement measurement_of(const peers::SideTimes& side, double max_error) {
  record::Measurement measurement;
  measurement.min_seconds = side.min_seconds;
  measurement.median_seconds = side.median_seconds;
  measurement.repeats = static_cast<int>(side.samples.size());
  measurement.number = side.calls;
  measurement.max_error = max_error;
  return measurement;
}

/// Stores what was measured of the candidates, sides 1, 2, ... of the race, and returns the one that is used now.
std::size_t record_layouts(const Model& model, const std::vector<tune::LayoutAssignment>& candidates,
                           const ModelTimes& times, store::Store& store, const target::Target& target,
                           std::uint64_t seed) {
  if (candidates.size() == 1) return 0;
  const SystemClock clock;
  std::vector<record::Record> records;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double max_error = times.max_error.empty() ? 0 : times.max_error[i + 1];
    records.push_back(model.layouts.record_of(candidates[i], measurement_of(times.sides[i + 1], max_error), target));
    records.back().seed = seed;
    records.back().created_unix_ms = clock.unix_milliseconds();
  }
  store.append(records, store::OnConflict::Replace);
  const graph::Layouts used = model.layouts.best_known(&store, target);
  const auto found = std::ranges::find(candidates, used, &tune::LayoutAssignment::layouts);
  TEMPER_CHECK(found != candidates.end(), "the layouts that are used are none of the candidates");
  return static_cast<std::size_t>(found - candidates.begin());
}

}  // namespace

nlohmann::json race_whole_model(Session& s, const Model& model, store::Store& store, const target::Target& target,
                                const WholeModelOptions& options) {
  const SystemClock clock;
  const double start = clock.seconds();
  const std::vector<tune::LayoutAssignment> candidates = model.layouts.candidates();
  Plans plans(model, store, target, options.work, s.cancellation);
  plans.add("default", candidates.front().layouts, tune::Mode::Off);
  for (const tune::LayoutAssignment& candidate : candidates)
    plans.add(rivals_text(model.layouts, candidate.layouts), candidate.layouts, tune::Mode::Cached);
  ModelTimes times =
      race_models(plans.plans(), peer_work(options.work),
                  {.threads = options.work.threads,
                   .peers = options.with_peer ? std::vector<std::string>{"onnxruntime"} : std::vector<std::string>{},
                   .seed = options.seed,
                   .checks = 10,
                   .budget_seconds = options.budget_seconds,
                   .cancellation = s.cancellation});
  const std::size_t used = 1 + record_layouts(model, candidates, times, store, target, options.seed);
  nlohmann::json out;
  if (candidates.size() > 1) {
    out["layouts"] = nlohmann::json::array();
    for (std::size_t i = 1; i < times.sides.size(); ++i) {
      out["layouts"].push_back(side_json(times.sides[i]));
      out["layouts"].back().update({{"rivals", times.sides[i].name}, {"used", i == used}});
    }
  }
  times.sides[used].name = "tuned";
  const peers::SideTimes &untuned = times.sides[0], &tuned = times.sides[used];
  std::vector<peers::SideTimes> sides = times.sides;
  std::swap(sides[1], sides[used]);
  const RacedPeer* peer = times.peers.empty() || !times.peers[0].error.empty() ? nullptr : &times.peers[0];
  if (peer != nullptr) sides.push_back(peer->times);
  s.print("whole model, interleaved:\n");
  for (const peers::SideTimes& side : sides) {
    s.print(fmt::format("{:>14}  {}\n", side.name, side_text(side)));
  }
  out["default"] = side_json(untuned);
  out["tuned"] = side_json(tuned);
  if (candidates.size() > 1)
    s.print(fmt::format("layouts of chains: tuned is {}\n", rivals_text(model.layouts, candidates[used - 1].layouts)));
  s.print(fmt::format("tuned is {:.2f}x the default", peers::ratio(untuned, tuned)));
  out["gain"] = peers::ratio(untuned, tuned);
  if (peer != nullptr) {
    const double max_error = *std::ranges::max_element(times.max_error);
    s.print(fmt::format(", {:.2f}x ONNX Runtime {} (default {:.2f}x); largest difference {:.1e} on {} random inputs",
                        peers::ratio(peer->times, tuned), peer->version, peers::ratio(peer->times, untuned), max_error,
                        times.checked_inputs));
    out["onnxruntime"] = side_json(peer->times);
    out["onnxruntime_version"] = peer->version;
    out["speed_over_onnxruntime"] = peers::ratio(peer->times, tuned);
    out["default_speed_over_onnxruntime"] = peers::ratio(peer->times, untuned);
    out["max_error"] = max_error;
  }
  s.print("\n");
  if (loses(tuned, untuned))
    s.print("the tuned kernels lose together: temper build times both again and keeps the faster; tune for longer\n");
  if (!times.peers.empty() && peer == nullptr) s.progress("ONNX Runtime was not timed: " + times.peers[0].error);
  out["wall_seconds"] = clock.seconds() - start;
  return out;
}

}  // namespace temper::app
