// Stopping and going on: a first call is stopped by its cancellation token in the middle, a second one takes what it
// measured from the database and measures none of it again.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <set>
#include <string>

#include "kernel.h"
#include "temper/tune/verdict.h"

namespace {

/// Tunes into the file; notes what was measured, and asks for a stop once `stop_after` candidates were tried. A default
/// whose time other processes disturbed too much is left out: every gain is told against it, so it is timed once more.
temper::tune::Report tune_into(const std::filesystem::path& file, const temper::tune::Task& task,
                               std::int64_t stop_after, std::multiset<std::string>& measured) {
  const auto store = temper::store::open_sqlite(file, temper::store::OpenMode::Create);
  temper::tune::Options options;
  options.store = store.get();
  options.trials = 32;
  options.batch = 8;
  options.progress = [&](const temper::tune::Event& event) {
    if (!event.trial) return;
    const bool is_spoilt_default = event.trial->origin == temper::tune::kDefaultOrigin &&
                                   event.trial->failure == temper::record::FailureKind::Unstable;
    if (!is_spoilt_default) measured.insert(event.trial->candidate);
    if (event.task_trials == stop_after) options.cancellation.request();  // also from any thread, or a signal handler
  };
  return temper::tune::tune({&task, 1}, options);
}

}  // namespace

int main() try {
  using namespace temper;
  const tune::Task task = tune::task_from_spec("matmul(m=64,n=128,k=96)", 1);
  const std::filesystem::path file = "resume.db";
  std::filesystem::remove(file);
  std::multiset<std::string> measured;
  const tune::Report first = tune_into(file, task, 12, measured);
  const std::size_t known = measured.size();
  const tune::Report second = tune_into(file, task, -1, measured);
  const tune::TaskReport& report = second.tasks.front();
  std::printf("stopped after %d, went on with %d known and %d more; best %s\n", static_cast<int>(first.trials),
              static_cast<int>(report.resumed), static_cast<int>(report.trials), report.best_candidate.c_str());
  bool twice = false;
  for (const std::string& candidate : measured) twice = twice || measured.count(candidate) > 1;
  const bool whole = first.cancelled && !second.cancelled && static_cast<std::size_t>(report.resumed) >= known;
  return whole && !twice ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
