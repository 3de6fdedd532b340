// The classic flow of a template tuner: make a task, say how to measure, choose a tuner, tune, look at the best
// configuration, keep the history in a file, apply the best of the history, run.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "kernel.h"

int main() try {
  using namespace temper;
  const tune::Task task =
      tune::task_from_spec("conv2d(n=1,ic=64,h=14,w=14,oc=64,kh=3,kw=3,stride=1,pad=1,layout=nhwc)", 1);

  tune::Options options;
  options.timing = {.repeat = 3, .number = 10};  // three samples of ten calls each
  options.strategy = "annealing";                // simulated annealing on what an XGBoost model predicts
  options.strategy_options["chains"] = 64;
  options.trials = 20;
  options.seed = 1;
  const auto store = store::open_in_memory();
  options.store = store.get();
  options.progress = [](const tune::Event& event) {
    if (event.kind == tune::Event::Kind::NewBest)
      std::printf("trial %2d: %.1f us\n", static_cast<int>(event.task_trials), event.best_seconds * 1e6);
  };
  const tune::TaskReport report = tune::tune({&task, 1}, options).tasks.front();
  std::printf("%d of %llu configurations tried, best %s: %.1f GFLOP/s, %.2fx the default\n",
              static_cast<int>(report.trials), static_cast<unsigned long long>(report.valid_candidates),
              report.best_candidate.c_str(), report.gflops, report.default_seconds / report.best_seconds);

  // The history is a file of JSON Lines; another process, or another machine of this kind, would start here.
  store::export_json_lines(*store, "conv2d.jsonl");
  const auto history = store::open_in_memory();
  store::import_json_lines(*history, "conv2d.jsonl");
  const tune::Built best = tune::artifact_for(history.get(), task, target::detect());
  std::printf("applying %s\n", best.record ? best.record->candidate.text().c_str() : "the default");

  example::Kernel kernel(task, best.artifact);
  const double seconds = kernel.run(), error = kernel.error();
  std::printf("runs in %.1f us, largest relative error %.1e\n", seconds * 1e6, error);
  return best.record && error < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
