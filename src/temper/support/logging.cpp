#include "temper/support/logging.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>
#include <string>

#include "temper/support/error.h"

namespace temper {
namespace {

struct LevelName {
  LogLevel level;
  std::string_view name;
  spdlog::level::level_enum backend;
};
constexpr std::array kLevels = {
    LevelName{LogLevel::Trace, "trace", spdlog::level::trace},
    LevelName{LogLevel::Debug, "debug", spdlog::level::debug},
    LevelName{LogLevel::Info, "info", spdlog::level::info},
    LevelName{LogLevel::Warning, "warning", spdlog::level::warn},
    LevelName{LogLevel::Error, "error", spdlog::level::err},
    LevelName{LogLevel::Off, "off", spdlog::level::off},
};

const LevelName& find(LogLevel level) {
  for (const LevelName& entry : kLevels) {
    if (entry.level == level) return entry;
  }
  check_failed("level", __FILE__, __LINE__, "unknown log level");
}

// One logger for the process. It is kept out of spdlog's registry, which an embedding program may use for its own.
spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("temper", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%H:%M:%S.%e %^%l%$ %v");
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return *instance;
}

}  // namespace

std::string_view to_string(LogLevel level) { return find(level).name; }

LogLevel parse_log_level(std::string_view text) {
  std::string known;
  for (const LevelName& entry : kLevels) {
    if (entry.name == text) return entry.level;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error(ErrorCode::InvalidArgument, "unknown log level '" + std::string(text) + "'", "--log-level",
              "use one of: " + known);
}

void set_log_level(LogLevel level) { logger().set_level(find(level).backend); }

LogLevel log_level() {
  for (const LevelName& entry : kLevels) {
    if (entry.backend == logger().level()) return entry.level;
  }
  return LogLevel::Off;
}

void log(LogLevel level, std::string_view message) {
  TEMPER_CHECK(level != LogLevel::Off, "a message cannot have the level 'off'");
  logger().log(find(level).backend, spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace temper
