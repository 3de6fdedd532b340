// The one place where messages for people leave the libraries: standard error, one line a message, with time and level.
// Results never go through here; they belong to standard output and to whoever runs the command.
#pragma once

#include <span>
#include <string_view>

namespace temper {

enum class LogLevel { Trace, Debug, Info, Warning, Error, Off };

/// "trace", "debug", "info", "warning", "error", "off".
std::string_view to_string(LogLevel level);
/// Inverse, for `--log-level`. Throws Error{InvalidArgument} that lists the levels.
LogLevel parse_log_level(std::string_view text);

/// Messages below `level` are dropped. The process starts at Warning. Safe from any thread.
void set_log_level(LogLevel level);
LogLevel log_level();

/// Writes one message at `level` (which is not Off). Safe from any thread.
void log(LogLevel level, std::string_view message);

inline void log_debug(std::string_view message) { log(LogLevel::Debug, message); }
inline void log_info(std::string_view message) { log(LogLevel::Info, message); }
inline void log_warning(std::string_view message) { log(LogLevel::Warning, message); }
inline void log_error(std::string_view message) { log(LogLevel::Error, message); }

}  // namespace temper
