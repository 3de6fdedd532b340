// temper-conformance: runs the ONNX backend suite and says what passes, fails and is refused, and why.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "conformance/suite.h"
#include "temper/support/error.h"

namespace temper::conformance {
namespace {

struct Options {
  std::string folder, only;
  bool json = false, cases = false, here = false;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  int seconds = 60, least = 0;
};

using Reasons = std::map<std::string, std::vector<std::string>>;  ///< names of the cases

void print_reasons(const std::string& title, const Reasons& reasons) {
  if (reasons.empty()) return;
  std::vector<std::pair<std::string, std::vector<std::string>>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::cout << fmt::format("\n{}:\n", title);
  for (const auto& [reason, names] : sorted)
    std::cout << fmt::format("{:5}  {}  (as {})\n", names.size(), reason, names[0]);
}

int run(const Options& options) {
  std::vector<Case> cases = find_cases(options.folder);
  if (!options.only.empty())
    std::erase_if(cases, [&](const Case& c) { return c.name.find(options.only) == std::string::npos; });
  const bool live = !options.json && isatty(STDERR_FILENO) != 0;
  std::size_t count = 0;
  std::vector<Result> results;
  if (options.here) {
    for (const Case& test : cases) results.push_back(run_case(test));
  } else {
    results = run_isolated(cases, options.jobs, options.seconds, [&](const Case& test, const Result&) {
      ++count;
      if (live) std::cerr << fmt::format("\r\033[K{}/{} {}", count, cases.size(), test.name) << std::flush;
    });
  }
  if (live) std::cerr << "\r\033[K";

  std::map<Outcome, int> counts;
  std::map<Outcome, Reasons> reasons;
  int bound = 0, generated = 0;
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Result& r = results[i];
    ++counts[r.outcome];
    if (r.outcome == Outcome::Passed) {
      bound += r.bound > 0 ? 1 : 0;
      generated += r.generated ? 1 : 0;
    } else {
      reasons[r.outcome][r.reason].push_back(cases[i].name);
    }
    list.push_back({{"case", cases[i].name},
                    {"outcome", to_string(r.outcome)},
                    {"reason", r.reason},
                    {"detail", r.detail},
                    {"difference", r.difference},
                    {"bound_inputs", r.bound},
                    {"generated_code", r.generated}});
    if (options.cases && !options.json)
      std::cout << fmt::format("{} {}{}{}\n", to_string(r.outcome), cases[i].name, r.reason.empty() ? "" : ": ",
                               r.reason);
    if (!options.json && (r.outcome == Outcome::Failed || r.outcome == Outcome::Crashed))
      std::cout << fmt::format("{} {}: {}\n    {}\n", to_string(r.outcome), cases[i].name, r.reason, r.detail);
  }
  if (options.json) {
    nlohmann::json summary{{"cases", list}, {"generated_code", generated}, {"bound_inputs", bound}};
    for (const Outcome o : {Outcome::Passed, Outcome::Failed, Outcome::Crashed, Outcome::Refused, Outcome::Apart}) {
      summary[std::string(to_string(o))] = counts[o];
      for (const auto& [reason, names] : reasons[o])
        summary["reasons"][std::string(to_string(o))][reason] = names.size();
    }
    std::cout << summary.dump(2) << "\n";
  } else {
    print_reasons("refused at import", reasons[Outcome::Refused]);
    print_reasons("not considered", reasons[Outcome::Apart]);
    std::cout << fmt::format(
        "\n{} passed ({} by generated code, {} with inputs bound as constants), {} failed, {} crashed, "
        "{} refused at import, {} not considered\n",
        counts[Outcome::Passed], generated, bound, counts[Outcome::Failed], counts[Outcome::Crashed],
        counts[Outcome::Refused], counts[Outcome::Apart]);
  }
  const bool good =
      counts[Outcome::Failed] == 0 && counts[Outcome::Crashed] == 0 && counts[Outcome::Passed] >= options.least;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace temper::conformance

int main(int argc, char** argv) {
  using namespace temper::conformance;
  Options options;
  CLI::App app("Runs the ONNX backend suite by default schedules.", "temper-conformance");
  app.add_option("FOLDER", options.folder, "backend/test/data of the onnx package")->required();
  app.add_option("--only", options.only, "Only cases whose name holds this text");
  app.add_flag("--json", options.json, "Print one JSON object");
  app.add_flag("--cases", options.cases, "Print each case");
  app.add_flag("--here", options.here, "Run the cases in this process, for a debugger");
  app.add_option("--jobs", options.jobs, "Cases at a time")->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--timeout", options.seconds, "Seconds for one case")->capture_default_str();
  app.add_option("--at-least", options.least, "Fail when fewer pass")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const temper::Error& error) {
    std::cerr << "temper-conformance: " << error.what() << "\n";
    return 2;
  }
}
