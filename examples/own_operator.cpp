// Tunes the operator of max_plus.h, which Temper does not know, on a small shape.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "kernel.h"
#include "max_plus.h"

using namespace temper;

int main() try {
  const tune::Task task =
      tune::make_task("max_plus", {{"m", "100"}, {"n", "128"}, {"k", "96"}}, example::max_plus(100, 128, 96), 1);
  const std::vector<space::Template> templates = {
      {"tiled", [](const ir::Compute&, const target::Target&) { return true; }, example::max_plus_tiled}};
  const auto store = store::open_in_memory();
  tune::Options options;
  options.templates = templates;
  options.trials = 24;
  options.store = store.get();
  const tune::TaskReport report = tune::tune({&task, 1}, options).tasks.front();
  if (!report.error.empty()) throw Error(ErrorCode::Unsupported, report.error);

  const tune::Built built = tune::artifact_for(store.get(), task, target::detect(), tune::Mode::Cached, templates);
  example::Kernel kernel(task, built.artifact);
  const double seconds = kernel.run(), error = kernel.error();
  std::printf("max-plus 100x128x96: %llu configurations, best %s\n",
              static_cast<unsigned long long>(report.valid_candidates), report.best_candidate.c_str());
  std::printf("%.1f us, %.1f billion additions and comparisons a second, largest relative error %.1e\n", seconds * 1e6,
              2e-9 * 100 * 128 * 96 / seconds, error);
  return error < 1e-6 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
