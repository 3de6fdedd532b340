// Tunes the convolution of gated_convolution.h, whose activation Temper has no name for, on a small shape.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "gated_convolution.h"
#include "kernel.h"

using namespace temper;

int main() try {
  const example::ConvolutionShape shape{32, 14, 48, 3, 1};
  const tune::Task task = tune::make_task(
      "gated_convolution", {{"channels", "32"}, {"size", "14"}, {"filters", "48"}, {"kernel", "3"}, {"pad", "1"}},
      example::gated_convolution(shape), 1);
  const std::vector<space::Template> templates = {
      {"tiled", [](const ir::Compute&, const target::Target&) { return true; }, example::gated_convolution_tiled}};
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
  std::printf("gated convolution 14x14x32 -> 48, 3x3: %llu configurations, best %s\n",
              static_cast<unsigned long long>(report.valid_candidates), report.best_candidate.c_str());
  std::printf("%.1f us, %.1f GFLOP/s, largest relative error %.1e\n", seconds * 1e6, 1e-9 * task.flops / seconds,
              error);
  return error < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
