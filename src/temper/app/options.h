// Flags that several commands share, each declared once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "temper/app/model.h"

namespace CLI {
class App;
}

namespace temper::app {

/// MODEL, --op, --shape, --constant, --layouts, --threads, --db, --max-error.
void declare_work(CLI::App& command, ModelOptions& options, bool spec_allowed);
/// --disable-pass, as often as wanted.
void declare_disabled_passes(CLI::App& command, std::vector<std::string>& passes, const std::string& text);
/// --strategy takes one of these: their names, separated by commas.
std::string strategy_names();
/// Tells of strategies and their options behind the help of a command that takes them.
void describe_strategies(CLI::App& command);
/// --seed.
void declare_seed(CLI::App& command, std::uint64_t& seed, const std::string& text);
/// Throws Error{InvalidArgument} when one of these options is given: `reason` says why it has no meaning here.
void refuse_given(const CLI::App& command, std::initializer_list<const char*> options, const std::string& reason);
/// Throws Error{InvalidArgument} when there are fewer CPUs than `threads`: their times would say nothing.
void check_timed_threads(int threads);
/// Throws Error{InvalidArgument} unless exactly one of MODEL and --op is given.
void check_work(const ModelOptions& options);
/// Seconds of "300", "90s", "5m", "1.5h". Throws Error{InvalidArgument} that names `option`.
double parse_duration(const std::string& text, const std::string& option = "--budget");
/// "1.23 ms", "45.6 us".
std::string seconds_text(double seconds);

}  // namespace temper::app
