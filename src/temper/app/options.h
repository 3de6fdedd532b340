// Flags that several commands share, each declared once.
#pragma once

#include "temper/app/model.h"

namespace CLI {
class App;
}

namespace temper::app {

/// MODEL, --op, --shape, --threads, --db.
void declare_work(CLI::App& command, ModelOptions& options, bool spec_allowed);
/// Throws Error{InvalidArgument} unless exactly one of MODEL and --op is given.
void check_work(const ModelOptions& options);
/// Seconds of "300", "90s", "5m", "1.5h". Throws Error{InvalidArgument}.
double parse_duration(const std::string& text);
/// "1.23 ms", "45.6 us".
std::string seconds_text(double seconds);

}  // namespace temper::app
