#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "temper/app/options.h"
#include "temper/app/session.h"
#include "temper/compile/replay.h"
#include "temper/graph/pipeline.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"

namespace temper::app {

namespace {

struct ExplainOptions {
  ModelOptions work;
  std::int64_t record = 0;
  int task = -1;
  std::string stage;
  std::string dump_after;
  std::vector<std::string> disabled;
};

constexpr const char* kStages[] = {"compute", "schedule", "loops", "llvm", "asm", "trace"};

/// The requested texts of one scheduled definition.
nlohmann::json explain_schedule(Session& s, const ExplainOptions& o, const ir::Compute& compute,
                                const schedule::Schedule& schedule, const target::Target& target,
                                const std::string& title) {
  compile::Compiler compiler(target);
  compile::CompileOptions options;
  options.keep_texts = true;
  options.dump_after = o.dump_after;
  options.disabled_passes = o.disabled;
  s.cancellation.throw_if_requested();
  compile::Compiled compiled = compiler.compile(schedule, options);
  s.cancellation.throw_if_requested();
  const auto text = [&](const std::string& stage) -> std::string {
    if (stage == "compute") return ir::print(compute) + "\n";
    if (stage == "schedule") return compiled.schedule_text;
    if (stage == "loops") return compiled.loops_text;
    if (stage == "llvm") return compiled.llvm_ir;
    if (stage == "asm") return compiled.assembly;
    return compile::print(compile::TraceFile{target, compute, schedule.trace()});
  };
  nlohmann::json out{{"name", title},
                     {"artifact_hash", compile::fingerprint(compiled.artifact)},
                     {"artifact_bytes", compiled.artifact.bytes.size()}};
  if (!o.dump_after.empty()) {
    s.print(compiled.dump);
    out["dump"] = compiled.dump;
    return out;
  }
  for (const char* stage : kStages) {
    if (!o.stage.empty() && o.stage != stage) continue;
    if (o.stage.empty()) s.print(fmt::format("== {}\n", stage));
    s.print(text(stage));
    out[stage] = text(stage);
  }
  return out;
}

/// "estimate: nchw takes 1.32x, nchw16c 1.17x"
std::string estimate_text(const graph::LayoutChoice& choice, ops::Layout layout, ops::Layout blocks) {
  std::string text;
  for (const ops::Layout other : {ops::Layout::Nhwc, ops::Layout::Nchw, blocks}) {
    if (other == layout || !std::isfinite(choice.estimate.of(other))) continue;
    text +=
        fmt::format("{} {} {:.2f}x", text.empty() ? "estimate:" : ",",
                    text.empty() ? std::string(ops::to_string(other)) + " takes" : std::string(ops::to_string(other)),
                    choice.estimate.of(other) / choice.estimate.of(layout));
  }
  return text;
}

/// Which layout each chain has, and why.
nlohmann::json explain_layouts(Session& s, const tune::ModelLayouts& layouts, const graph::Layouts& chosen,
                               const std::optional<tune::MeasuredLayouts>& measured, ops::Layout blocks) {
  nlohmann::json chains = nlohmann::json::array();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const graph::LayoutChoice& choice = layouts.choices()[i];
    std::string why = estimate_text(choice, chosen[i], blocks), rivals;
    for (const ops::Layout rival : choice.rivals)
      rivals += (rivals.empty() ? "" : " and ") + std::string(ops::to_string(rival));
    if (!rivals.empty() && !measured) why += "; " + rivals + " not measured yet";
    if (!rivals.empty() && measured) {
      why = fmt::format("measured: the whole model takes {}, record {}",
                        seconds_text(measured->record.measurement.min_seconds), measured->record.id);
    }
    s.print(fmt::format("chain c{}: {} nodes from {}: {} ({})\n", i, choice.chain.nodes.size(), choice.chain.name,
                        ops::to_string(chosen[i]), why));
    chains.push_back({{"chain", "c" + std::to_string(i)},
                      {"first", choice.chain.name},
                      {"nodes", choice.chain.nodes.size()},
                      {"layout", ops::to_string(chosen[i])},
                      {"rivals", nlohmann::json::array()},
                      {"estimate", {{"nhwc", choice.estimate.nhwc}, {"nchw", choice.estimate.nchw}}},
                      {"record", !rivals.empty() && measured ? nlohmann::json(measured->record.id) : nullptr}});
    for (const ops::Layout rival : choice.rivals) chains.back()["rivals"].push_back(ops::to_string(rival));
    if (choice.chain.no_blocks.empty()) {
      chains.back()["estimate"]["blocked"] = choice.estimate.blocks;
    } else {
      chains.back()["no_blocks"] = choice.chain.no_blocks;
    }
  }
  return chains;
}

nlohmann::json explain_model(Session& s, const ExplainOptions& o) {
  const target::Target target = target::detect();
  const Model model = load_model(o.work);
  const auto store = open_store(o.work.db, false);
  const graph::Layouts layouts = model.layouts.best_known(store.get(), target);
  const graph::Program program = model.program(layouts);
  nlohmann::json tasks = nlohmann::json::array(), nodes = nlohmann::json::array();
  std::vector<std::string> labels;
  const std::vector<tune::Task> list = tune::tasks_from_model(program, o.work.threads, target);
  for (const tune::Task& task : list) {
    s.cancellation.throw_if_requested();
    const auto record = store ? tune::best(*store, task, target, o.work.max_error) : std::nullopt;
    labels.push_back(record ? "record " + std::to_string(record->id) : "default");
    tasks.push_back({{"name", task.name},
                     {"key", task.key.text()},
                     {"count", task.count},
                     {"record", record ? nlohmann::json(record->id) : nlohmann::json(nullptr)},
                     {"candidate", record ? nlohmann::json(record->candidate.text()) : nlohmann::json(nullptr)},
                     {"seconds", record ? nlohmann::json(record->measurement.min_seconds) : nlohmann::json(nullptr)}});
  }
  for (const graph::Step& step : program.steps) {
    const auto t = static_cast<std::size_t>(step.task);
    std::string covered;
    for (const std::string& node : step.nodes) covered += (covered.empty() ? "" : ", ") + node;
    s.print(fmt::format("{} -> task {} {} -> {}\n", covered.empty() ? step.name : covered, t, list[t].key.text(),
                        labels[t]));
    nodes.push_back({{"nodes", step.nodes}, {"step", step.name}, {"task", t}, {"code", labels[t]}});
  }
  const nlohmann::json chains = explain_layouts(
      s, model.layouts, layouts, store ? model.layouts.best(*store, target) : std::nullopt, tune::blocks_of(target));
  s.print(fmt::format("{} steps, {} tasks, {} views, {} parts of others\n", program.steps.size(), program.tasks.size(),
                      program.views.size(), program.parts.size()));
  return {{"steps", nodes},
          {"tasks", tasks},
          {"chains", chains},
          {"views", program.views.size()},
          {"parts", program.parts.size()}};
}

/// The task of a record that keeps no definition: the model's or the SPEC's that was given, or what its key says.
tune::Task task_of(const record::Record& record, const ExplainOptions& o) {
  const std::string key = record.task.text(), place = "record " + std::to_string(record.id);
  if (!o.work.model.empty()) {
    int threads = o.work.threads;
    for (const auto& [name, value] : record.task.fields) threads = name == "threads" ? std::stoi(value) : threads;
    const Model model = load_model(o.work);
    for (const tune::LayoutAssignment& candidate : model.layouts.candidates()) {
      for (tune::Task& task : tune::tasks_from_model(model.program(candidate.layouts), threads, target::detect())) {
        if (task.key == record.task) return std::move(task);
      }
    }
    throw Error(ErrorCode::NotFound, "the model has no task " + key, place, "are its shapes those of the record?");
  }
  try {
    return tune::task_from_spec(key, 1);
  } catch (const Error&) {
    throw Error(ErrorCode::NotFound, "the record keeps no trace and its task is no SPEC: " + key, place,
                "name the model as well: temper explain MODEL --record ID");
  }
}

nlohmann::json explain(Session& s, const ExplainOptions& o) {
  const target::Target target = target::detect();
  if (o.record != 0) {
    const auto store = store::open_sqlite(o.work.db, store::OpenMode::ReadOnly);
    const record::Record record = store->record(o.record);
    if (record.target != target::fingerprint(target)) {
      throw Error(ErrorCode::Unsupported, "the record was measured on another target: " + record.target,
                  "record " + std::to_string(o.record), "run the command on that machine");
    }
    if (const auto recorded = record.trace ? std::optional(compile::parse_recorded(*record.trace)) : std::nullopt;
        recorded && recorded->compute) {
      schedule::Schedule schedule(*recorded->compute);
      schedule::replay(schedule, recorded->trace);
      return explain_schedule(s, o, *recorded->compute, schedule, target, record.task.text());
    }
    const tune::Task task = task_of(record, o);
    const tune::LookedUp found = tune::schedule_of(record, task, target);
    return explain_schedule(s, o, *found.compute, found.schedule, target, record.task.text());
  }
  check_work(o.work);
  const auto store = open_store(o.work.db, false);
  std::optional<tune::Task> task;
  if (!o.work.model.empty()) {
    if (o.task < 0) {
      if (o.stage.empty() && o.dump_after.empty()) return explain_model(s, o);
      throw Error(ErrorCode::InvalidArgument, "--stage and --dump-after need one task", "command line",
                  "add --task N, a number that `temper explain MODEL` prints, or use --record ID");
    }
    const Model model = load_model(o.work);
    const graph::Program program = model.program(model.layouts.best_known(store.get(), target));
    std::vector<tune::Task> tasks = tune::tasks_from_model(program, o.work.threads, target);
    if (static_cast<std::size_t>(o.task) >= tasks.size()) {
      throw Error(ErrorCode::InvalidArgument, "the model has " + std::to_string(tasks.size()) + " tasks",
                  "--task " + std::to_string(o.task), "`temper explain MODEL` numbers them from 0");
    }
    task = std::move(tasks[static_cast<std::size_t>(o.task)]);
  } else {
    task = tune::task_from_spec(o.work.spec, o.work.threads);
  }
  const tune::LookedUp found =
      tune::schedule_for(store.get(), *task, target, space::builtin_templates(), o.work.max_error);
  if (!found.note.empty()) s.progress(found.note);
  return explain_schedule(s, o, *found.compute, found.schedule, target, task->key.text());
}

}  // namespace

void declare_explain(CLI::App& command, Session& session) {
  auto options = std::make_shared<ExplainOptions>();
  declare_work(command, options->work, true);
  command.add_option("--record", options->record, "A record of the database by its number");
  command.add_option("--task", options->task, "With a model: one of its tasks, by the number that is printed without")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--stage", options->stage, "Only one text")
      ->check(CLI::IsMember({"compute", "schedule", "loops", "llvm", "asm", "trace"}));
  command.add_option("--dump-after", options->dump_after,
                     "Print what a pass leaves: nest, verify-nest, lower, verify-kernel, expand-math, codegen");
  declare_disabled_passes(command, options->disabled,
                          "Leave out a pass that only checks: verify-nest, verify-kernel; for a model: a graph pass");
  command.callback([&command, &session, options] {
    if (command.count("--record") > 0)
      refuse_given(command, {"--op", "--task", "--threads"}, "has no meaning with --record");
    if (options->work.model.empty()) refuse_given(command, {"--task"}, "is for models");
    if (command.count("--dump-after") > 0) refuse_given(command, {"--stage"}, "has no meaning with --dump-after");
    options->work.disabled_passes = options->work.model.empty() ? std::vector<std::string>{} : options->disabled;
    session.action = [options](Session& s) { return explain(s, *options); };
  });
}

}  // namespace temper::app
