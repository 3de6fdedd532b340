#include "temper/app/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>

#include "temper/ops/spec.h"
#include "temper/runtime/thread_pool.h"
#include "temper/search/strategy.h"
#include "temper/support/error.h"

namespace temper::app {

namespace {

constexpr double kLongestSeconds = 8760 * 3600.0;

}  // namespace

void declare_work(CLI::App& command, ModelOptions& options, bool spec_allowed) {
  command.add_option("MODEL", options.model, "An ONNX model");
  if (spec_allowed) {
    std::string forms;
    for (const ops::SpecOperator& op : ops::spec_operators()) forms += (forms.empty() ? "" : ", ") + ops::spec_form(op);
    command.add_option("--op", options.spec, "One operator instead of a model, with more fields if wanted: " + forms);
  }
  command.add_option("--shape", options.shapes, "Sizes of a model input: NAME=1,3,224,224 (repeat for more inputs)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->delimiter('\0');
  command
      .add_option("--constant", options.constants,
                  "Contents of a model input that never change, such as a shape: NAME=FILE.npy (repeat for more)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->delimiter('\0');
  command
      .add_option("--layouts", options.layouts,
                  "How a model's activations are stored: as measured (estimated where they were not), as estimated, or "
                  "all chains of convolutions in one layout: " +
                      tune::layout_rule_names())
      ->check([](const std::string& text) {
        return tune::parse_layout_rule(text) ? std::string() : "expected one of " + tune::layout_rule_names();
      })
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Threads that the code runs on")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--db", options.db, "The database of records")->capture_default_str();
  command
      .add_option("--max-error", options.max_error,
                  "How far other algorithms (Winograd, one-pass moments) may be from the reference, over the largest "
                  "output; 0: none of them")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void declare_disabled_passes(CLI::App& command, std::vector<std::string>& passes, const std::string& text) {
  command.add_option("--disable-pass", passes, text + " (repeat for more)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::string strategy_names() {
  std::string names;
  for (const search::StrategyInfo& info : search::strategies()) names += (names.empty() ? "" : ", ") + info.name;
  return names;
}

void describe_strategies(CLI::App& command) {
  std::string text = "Strategies, and what --option sets:\n";
  for (const search::StrategyInfo& info : search::strategies()) {
    text += fmt::format("  {}: {}\n", info.name, info.doc);
    for (const search::Option& option : info.options) {
      text += fmt::format("    {} = {} ({} to {}): {}\n", option.name, option.default_value, option.min, option.max,
                          option.doc);
    }
  }
  command.footer(text);
}

void declare_seed(CLI::App& command, std::uint64_t& seed, const std::string& text) {
  command.add_option("--seed", seed, text)->check(CLI::NonNegativeNumber)->capture_default_str();
}

void refuse_given(const CLI::App& command, std::initializer_list<const char*> options, const std::string& reason) {
  for (const char* option : options) {
    if (command.count(option) > 0)
      throw Error(ErrorCode::InvalidArgument, std::string(option) + " " + reason, option, "leave it out");
  }
}

void check_timed_threads(int threads) {
  const auto cpus = static_cast<int>(runtime::allowed_cpus().size());
  if (threads <= cpus) return;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{} threads cannot be timed on {} {}", threads, cpus, cpus == 1 ? "CPU" : "CPUs"),
              "--threads", fmt::format("use at most {}", cpus));
}

void check_work(const ModelOptions& options) {
  if (options.model.empty() == options.spec.empty()) {
    throw Error(ErrorCode::InvalidArgument, options.model.empty() ? "nothing to work on" : "a model and --op together",
                "command line", "give an ONNX model or --op SPEC, one of them");
  }
  if (!options.spec.empty() && !options.shapes.empty()) {
    throw Error(ErrorCode::InvalidArgument, "--shape is for models", "--shape", "an operator's sizes are in its SPEC");
  }
  if (!options.spec.empty() && options.layouts != "measured") {
    throw Error(ErrorCode::InvalidArgument, "--layouts is for models", "--layouts",
                "an operator's layout is in its SPEC");
  }
  if (!options.spec.empty() && !options.constants.empty()) {
    throw Error(ErrorCode::InvalidArgument, "--constant is for models", "--constant", "an operator has no such inputs");
  }
}

double parse_duration(const std::string& text, const std::string& option) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit(end);
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (end == text.c_str() || scale == 0 || !(value > 0) || !std::isfinite(value)) {
    throw Error(ErrorCode::InvalidArgument, "'" + text + "' is not a time", option,
                "a number with s, m or h: 90s, 5m, 1.5h");
  }
  if (value * scale > kLongestSeconds) {
    throw Error(ErrorCode::InvalidArgument, "'" + text + "' is too long", option, "a year at most: 8760h");
  }
  return value * scale;
}

std::string seconds_text(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

}  // namespace temper::app
