// A cost model of one's own: the mean of the most similar candidates that were measured. The strategy asks it about
// thousands of candidates for each one that is timed.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "kernel.h"
#include "nearest_model.h"

int main() try {
  using namespace temper;
  const tune::Task task = tune::task_from_spec("matmul(m=64,n=128,k=96)", 1);
  example::NearestModel::Uses uses;
  tune::Options options;
  options.make_cost_model = [&uses](const cost::CostModelContext&) {
    return std::make_unique<example::NearestModel>(uses);
  };
  options.trials = 48;
  const auto store = store::open_in_memory();
  options.store = store.get();
  const tune::TaskReport report = tune::tune({&task, 1}, options).tasks.front();
  if (!report.error.empty()) throw Error(ErrorCode::Unsupported, report.error);

  std::printf("learned %d times, predicted %lld candidates for %d that were timed\n", uses.updates,
              static_cast<long long>(uses.predictions), static_cast<int>(report.trials));
  std::printf("best %s, %.2fx the default\n", report.best_candidate.c_str(),
              report.default_seconds / report.best_seconds);
  const tune::Built best = tune::artifact_for(store.get(), task, target::detect());
  example::Kernel kernel(task, best.artifact);
  kernel.call();
  const double error = kernel.error();
  return uses.updates > 0 && uses.predictions > report.trials && error < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
