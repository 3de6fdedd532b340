// A search strategy of one's own: climb from the best candidate to its neighbours, start anew where the hill ends.
// Temper builds and times what it asks for, and stores it under its name.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "hill_climber.h"
#include "kernel.h"

int main() try {
  using namespace temper;
  const tune::Task task = tune::task_from_spec("matmul(m=64,n=128,k=96)", 1);
  const auto store = store::open_in_memory();
  tune::Options options;
  options.strategy = "hill_climber";  // the name in the records
  options.make_strategy = [](const search::StrategyContext& context) {
    return std::make_unique<example::HillClimber>(context);
  };
  options.trials = 24;
  options.store = store.get();
  const tune::Report report = tune::tune({&task, 1}, options);
  const tune::TaskReport& tuned = report.tasks.front();
  if (!tuned.error.empty()) throw Error(ErrorCode::Unsupported, tuned.error);

  int climbed = 0;
  for (const record::Record& record : store->all(task.key, target::fingerprint(target::detect())))
    climbed += record.strategy == "hill_climber" ? 1 : 0;
  std::printf("%d of %d candidates were the climber's; best %s, %.2fx the default\n", climbed,
              static_cast<int>(tuned.trials), tuned.best_candidate.c_str(), tuned.default_seconds / tuned.best_seconds);
  const tune::Built best = tune::artifact_for(store.get(), task, target::detect());
  example::Kernel kernel(task, best.artifact);
  kernel.call();
  const double error = kernel.error();
  return climbed == tuned.trials - 1 && error < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
