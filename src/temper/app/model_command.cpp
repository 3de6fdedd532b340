// `temper model`: cost models and the features that they see.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "temper/app/options.h"
#include "temper/app/session.h"
#include "temper/support/error.h"
#include "temper/support/output_file.h"
#include "temper/tune/dataset_features.h"
#include "temper/tune/model_training.h"

namespace temper::app {
namespace {

struct ModelCommandOptions {
  std::vector<std::string> data, held_out;
  std::string out, model;
  std::uint64_t seed = 0;
  int threads = 1;
};

constexpr const char* kAnalytic = "analytic";

std::vector<tune::TaskRows> load_rows(Session& s, const std::vector<std::string>& files) {
  const target::Target target = target::detect();
  std::vector<tune::TaskRows> rows;
  for (const std::string& file : files) {
    for (const tune::DatasetTask& task : tune::load_dataset(file).tasks) {
      rows.push_back(tune::rows_of(task, target));
      s.live(fmt::format("{} candidates of {}", rows.back().seconds.size(), rows.back().key), false);
    }
  }
  return rows;
}

nlohmann::json quality_json(const cost::RankingQuality& q) {
  return {{"task", q.task}, {"candidates", q.candidates}, {"pairwise", q.pairwise}, {"top1", q.top1},
          {"top5", q.top5}, {"recall30", q.recall30},     {"regret", q.regret},     {"top12_percent", q.top12}};
}

/// Prints a line for each task, the worst first, and their mean.
nlohmann::json report_quality(Session& s, std::vector<cost::RankingQuality> tasks) {
  const cost::RankingQuality mean = cost::mean(tasks);
  std::ranges::stable_sort(tasks, {}, &cost::RankingQuality::pairwise);
  nlohmann::json out{{"tasks", nlohmann::json::array()}, {"mean", quality_json(mean)}};
  s.print(fmt::format("{:>8} {:>6} {:>6} {:>9} {:>7} {:>7} {:>10}  {}\n", "pairwise", "top-1", "top-5", "recall@30",
                      "regret", "top 12%", "candidates", "task"));
  const auto print = [&](const cost::RankingQuality& q) {
    s.print(fmt::format("{:>8.3f} {:>6.3f} {:>6.3f} {:>9.3f} {:>7.3f} {:>7.3f} {:>10}  {}\n", q.pairwise, q.top1,
                        q.top5, q.recall30, q.regret, q.top12, q.candidates, q.task));
  };
  for (const cost::RankingQuality& q : tasks) {
    print(q);
    out["tasks"].push_back(quality_json(q));
  }
  print(mean);
  return out;
}

nlohmann::json evaluate(Session& s, const std::vector<tune::TaskRows>& tasks, const cost::PretrainedModel* model) {
  std::vector<cost::RankingQuality> quality;
  std::size_t failed = 0, unknown = 0;
  for (const tune::TaskRows& task : tasks) {
    failed += task.failed, unknown += task.unknown;
    if (task.seconds.empty()) continue;
    std::vector<double> scores;
    if (model != nullptr) {
      scores = tune::predict(*model, task);
    } else {
      for (const double seconds : task.analytic) scores.push_back(-seconds);
    }
    quality.push_back(cost::ranking_quality(task.key, scores, task.seconds));
  }
  if (quality.empty())
    throw Error(ErrorCode::InvalidArgument, "no candidate of these datasets has a time", "temper model eval", "");
  nlohmann::json out = report_quality(s, std::move(quality));
  s.print(fmt::format("{} candidates failed when they were measured, {} are not in today's spaces\n", failed, unknown));
  out["failed"] = failed, out["unknown"] = unknown;
  return out;
}

nlohmann::json evaluate_model(Session& s, const ModelCommandOptions& o) {
  std::unique_ptr<cost::PretrainedModel> model;
  if (o.model != kAnalytic) {
    model = std::make_unique<cost::PretrainedModel>(cost::PretrainedModel::load(o.model));
    const std::string here = target::fingerprint(target::detect());
    if (model->card().target != here)
      s.progress(fmt::format("the model learned from times on {}, this is {}", model->card().target, here));
  }
  return evaluate(s, load_rows(s, o.data), model.get());
}

nlohmann::json train_model(Session& s, const ModelCommandOptions& o) {
  tune::TrainingRecipe recipe = tune::training_recipe(o.model);
  recipe.seed = o.seed;
  recipe.threads = o.threads;
  std::vector<std::string> forbidden;
  for (const std::string& file : o.held_out) {
    for (const tune::DatasetTask& task : tune::load_dataset(file).tasks) forbidden.push_back(task.task.key.text());
  }
  const std::vector<tune::TaskRows> tasks = load_rows(s, o.data);
  const cost::PretrainedModel model = tune::train(tasks, target::detect(), recipe, forbidden);
  model.save(o.out);
  s.print(fmt::format("{} learned from {} candidates of {} tasks, written to {}\n", o.model, model.card().rows,
                      model.card().tasks.size(), o.out));
  nlohmann::json out{{"file", o.out}, {"rows", model.card().rows}, {"tasks", model.card().tasks.size()}};
  if (!o.held_out.empty()) out["held_out"] = evaluate(s, load_rows(s, o.held_out), &model);
  return out;
}

/// The features as text for other tools: a task, its seconds, then all columns that any task has.
nlohmann::json write_features(Session& s, const ModelCommandOptions& o) {
  const std::vector<tune::TaskRows> tasks = load_rows(s, o.data);
  std::map<std::string, std::size_t> columns;
  std::vector<std::string> names;
  for (const tune::TaskRows& task : tasks) {
    for (const std::string& name : task.columns) {
      if (columns.emplace(name, names.size()).second) names.push_back(name);
    }
  }
  OutputFile out(o.out, "the table of features");
  std::string head = "task\tseconds";
  for (const std::string& name : names) head += "\t" + name;
  out.write(head + "\n");
  std::size_t rows = 0;
  for (const tune::TaskRows& task : tasks) {
    for (std::size_t row = 0; row < task.seconds.size(); ++row) {
      std::vector<float> values(names.size(), cost::kMissing);
      for (std::size_t c = 0; c < task.columns.size(); ++c)
        values[columns.at(task.columns[c])] = task.features.row(row)[c];
      std::string line = fmt::format("{}\t{:.5g}", task.key, task.seconds[row]);
      for (const float value : values) line += std::isnan(value) ? "\t" : fmt::format("\t{:.6g}", value);
      out.write(line + "\n");
      ++rows;
    }
  }
  out.keep();
  s.print(fmt::format("{} rows of {} features written to {}\n", rows, names.size(), o.out));
  return {{"file", o.out}, {"rows", rows}, {"columns", names}};
}

}  // namespace

void declare_model(CLI::App& command, Session& session) {
  command.require_subcommand(1);
  const auto sub = [&](const char* name, const char* text,
                       nlohmann::json (*action)(Session&, const ModelCommandOptions&)) {
    auto o = std::make_shared<ModelCommandOptions>();
    CLI::App* app = command.add_subcommand(name, text);
    app->fallthrough();
    app->add_option("--data", o->data, "A dataset of `temper dataset` (repeat for more)")
        ->required()
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app->callback([&session, o, action] { session.action = [o, action](Session& s) { return action(s, *o); }; });
    return std::pair(app, o);
  };
  const auto [t, train] = sub("train", "Train a model that ranks candidates of tasks it has not seen", train_model);
  std::string names;
  for (const std::string_view name : tune::training_recipes()) names += (names.empty() ? "" : ", ") + std::string(name);
  t->add_option("--model", train->model, "What to train: " + names)->required();
  t->add_option("--out", train->out, "Where to")->required();
  t->add_option("--held-out", train->held_out, "A dataset to judge by; its tasks must not be learned from")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  declare_seed(*t, train->seed, "Seed of the training");
  t->add_option("--threads", train->threads, "Threads that train")->check(CLI::Range(1, 1024))->capture_default_str();
  const auto [e, eval] = sub("eval", "Judge a model by the measured order of candidates", evaluate_model);
  e->add_option("--model", eval->model, "A file of `temper model train`, or analytic")->required();
  const auto [f, features] = sub("features", "Write the features of a dataset's candidates as a table", write_features);
  f->add_option("--out", features->out, "The table: columns between tabs")->required();
}

}  // namespace temper::app
