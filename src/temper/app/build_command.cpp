#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "temper/app/exclusive.h"
#include "temper/app/model_race.h"
#include "temper/app/options.h"
#include "temper/app/session.h"
#include "temper/app/side_report.h"
#include "temper/runtime/bundle.h"
#include "temper/support/output_file.h"
#include "temper/tune/lookup.h"

namespace temper::app {

namespace {

struct BuildOptions {
  ModelOptions work;
  std::string output;
  bool no_race = false;
};

/// The plan of default schedules alone.
runtime::Plan untuned_plan(const graph::Program& program, const target::Target& target, int threads,
                           const CancellationToken& cancelled) {
  const auto build = [&](const tune::Task& task) {
    return build_between_timings(cancelled, [&] { return tune::artifact_for(nullptr, task, target, tune::Mode::Off); });
  };
  return build_model(program, target, threads, build).plan;
}

nlohmann::json build(Session& s, const BuildOptions& o) {
  for (const std::string& input : {o.work.model, o.work.db}) refuse_overwriting(input, o.output);
  const target::Target target = target::detect();
  const Model model = load_model(o.work);
  const Records records(o.work.db, o.work.max_error, s.cancellation);
  if (!records.note().empty()) s.progress(records.note());
  graph::Program program = model.program(model.layouts.best_known(records.store(), target));
  BuiltModel built = build_model(program, target, o.work.threads, records);
  std::size_t tuned = 0;
  for (const TaskChoice& choice : built.choices) {
    tuned += choice.record ? 1 : 0;
    if (!choice.note.empty()) s.progress(choice.note);
  }
  auto plan = std::make_shared<const runtime::Plan>(std::move(built.plan));
  nlohmann::json out{{"bundle", o.output}};
  if (tuned > 0 && !o.no_race) {
    graph::Program estimated = model.program(model.layouts.best_known(nullptr, target));
    const auto untuned =
        std::make_shared<const runtime::Plan>(untuned_plan(estimated, target, o.work.threads, s.cancellation));
    if (!same_kernels(*plan, *untuned)) {
      const std::vector<peers::SideTimes> sides =
          race_models({{"default", untuned}, {"tuned", plan}}, peer_work(o.work),
                      {.threads = o.work.threads, .cancellation = s.cancellation})
              .sides;
      const bool keep = !loses(sides[1], sides[0]);
      s.print(fmt::format(
          "whole model: tuned {}, default {}: {}\n", seconds_text(sides[1].quartile_seconds),
          seconds_text(sides[0].quartile_seconds),
          keep ? "the tuned kernels are used" : "the tuned kernels lose together; default schedules are used"));
      out["race"] = nlohmann::json::object();
      for (const peers::SideTimes& side : sides) out["race"][side.name] = side_json(side);
      if (!keep) {
        plan = untuned;
        program = std::move(estimated);
        tuned = 0;
      }
    }
  }
  s.cancellation.throw_if_requested();
  const std::int64_t bytes = runtime::save_bundle(*plan, o.output);
  s.print(fmt::format("{}: {} steps, {} tasks ({} tuned), {} bytes\n", o.output, program.steps.size(),
                      program.tasks.size(), tuned, bytes));
  out["steps"] = program.steps.size();
  out["tasks"] = program.tasks.size();
  out["bytes"] = bytes;
  out["tuned"] = tuned;
  return out;
}

}  // namespace

void declare_build(CLI::App& command, Session& session) {
  auto o = std::make_shared<BuildOptions>();
  declare_work(command, o->work, false);
  command.get_option("MODEL")->required();
  command.add_option("-o,--output", o->output, "The bundle to write (model.temper)")->required();
  command.add_flag("--no-race", o->no_race,
                   "Use the tuned kernels without timing the whole model against default schedules");
  declare_disabled_passes(command, o->work.disabled_passes, "Leave out a graph pass");
  command.callback([&session, o] { session.action = [o](Session& s) { return build(s, *o); }; });
}

}  // namespace temper::app
