// `temper measure --self-test`: what the timings of this machine are worth.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "temper/app/remote.h"
#include "temper/app/session.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"
#include "temper/target/cpu.h"
#include "temper/tune/processes.h"
#include "temper/tune/self_test.h"

namespace temper::app {
namespace {

struct MeasureOptions {
  bool self_test = false;
  RunnerChoice runner;
  tune::SelfTestOptions test;
};

std::string line_of(const tune::RaceSeries& series) {
  const std::string what = series.more_work > 0 ? fmt::format("{:.0f}% more work{}", 100 * series.more_work,
                                                              series.busy ? ", a core kept busy" : "")
                                                : std::string("equal");
  return fmt::format("{:32} {:9.1f} us  {:34} {:4} races: first {:3}  second {:3}  tie {:3}  open {:3}  {:5.0f} pairs",
                     cut_to(series.kernel, 32), series.seconds * 1e6, what, series.races, series.first, series.second,
                     series.tie, series.open, series.median_pairs);
}

nlohmann::json json_of(const tune::RaceSeries& series) {
  return {{"kernel", series.kernel},
          {"seconds", series.seconds},
          {"more_work", series.more_work},
          {"busy", series.busy},
          {"races", series.races},
          {"first", series.first},
          {"second", series.second},
          {"tie", series.tie},
          {"open", series.open},
          {"wrong", series.wrong()},
          {"median_pairs", series.median_pairs}};
}

nlohmann::json self_test(Session& s, MeasureOptions& o) {
  if (!o.self_test) {
    throw Error(ErrorCode::InvalidArgument, "there is nothing to measure", "temper measure",
                "give --self-test; `temper tune` and `temper bench` measure kernels");
  }
  const SystemClock clock;
  Hardware hardware = choose_hardware(s, o.runner, 1, clock);
  const target::Target& target = hardware.target;
  if (hardware.test == nullptr) hardware.test = tune::start_processes(target, 1, s.cancellation, clock);
  o.test.cancellation = s.cancellation;
  o.test.progress = [&s](const tune::RaceSeries& series) { s.live(line_of(series), false); };
  nlohmann::json result = nlohmann::json::array();
  s.print(fmt::format("a winner is declared wrongly with probability {} at most, ratios within {:.1f}% are a tie\n",
                      o.test.test.false_alarms, 100 * o.test.test.width));
  for (const tune::RaceSeries& series : tune::self_test(target, *hardware.test, o.test)) {
    s.print(line_of(series) + "\n");
    result.push_back(json_of(series));
  }
  return {{"series", result},
          {"cpu", target.model_name},
          {"false_alarms", o.test.test.false_alarms},
          {"width", o.test.test.width},
          {"seed", o.test.seed}};
}

}  // namespace

void declare_measure(CLI::App& command, Session& session) {
  const auto options = std::make_shared<MeasureOptions>();
  command.add_flag("--self-test", options->self_test,
                   "Race kernels against themselves: winners are false alarms; and against themselves with more work: "
                   "everything else is a miss");
  command.add_option("--races", options->test.equal_races, "Races of each kernel against itself")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  command
      .add_option("--unequal-races", options->test.unequal_races,
                  "Races against more work, for each kernel, on an idle machine and on one with a busy core")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  command.add_option("--more-work", options->test.more_work, "Share of work that the second racer does more")
      ->check(CLI::Range(0.001, 10.0))
      ->capture_default_str();
  command.add_option("--seed", options->test.seed, "Seed of the orders of races")->capture_default_str();
  declare_runner(command, options->runner);
  command.callback([options, &session] { session.action = [options](Session& s) { return self_test(s, *options); }; });
}

}  // namespace temper::app
