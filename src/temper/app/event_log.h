// The events of a tuning run as a file of JSON Lines, one object a line, written as they happen: docs/events.md.
#pragma once

#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "temper/support/unique_fd.h"
#include "temper/tune/event.h"
#include "temper/tune/watchdog.h"

namespace temper::app {

/// Of the objects that are written; it rises when a field changes its meaning or goes.
inline constexpr int kEventSchema = 1;

nlohmann::json event_json(const tune::Event& event);
nlohmann::json event_json(const tune::Stall& stall);

class EventLog {
 public:
  /// Empties the file, or opens a pipe that somebody reads. Throws Error{NotFound} when the folder does not exist, and
  /// Error{Io} when it cannot be written; both say how to mend it.
  explicit EventLog(const std::filesystem::path& file);

  /// One line, with the schema's number; it has reached the system when this returns. What goes wrong (a full disk, a
  /// reader that left or that does not read for a second) is returned once, in words; from then on nothing is written.
  /// Safe from any thread.
  std::optional<std::string> write(nlohmann::json event);

 private:
  std::filesystem::path file_;
  UniqueFd out_;  // of any kind: without a descriptor nothing is written
  std::mutex mutex_;
};

}  // namespace temper::app
