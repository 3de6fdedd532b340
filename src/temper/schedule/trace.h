// The trace of a schedule: the applied primitives, as text that replays in a process that knows no template and no
// operator.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "temper/schedule/schedule.h"

namespace temper::schedule {

/// A primitive by name; `apply` reads the words of its line.
struct Primitive {
  std::string_view name;
  std::string_view usage;
  void (*apply)(Schedule& schedule, const std::vector<std::string>& args);
};
/// The one table of primitives.
std::span<const Primitive> primitives();

/// One line per step: `split C m 4x16 mask`.
std::string print(const Trace& trace);
/// Inverse of `print`; blank lines and lines that start with # are skipped. Throws Error{InvalidArgument} with the line
/// number.
Trace parse_trace(std::string_view text);
/// Applies every step. Throws Error{InvalidArgument} for an unknown primitive or malformed words, ScheduleError as the
/// primitive does.
void replay(Schedule& schedule, const Trace& trace);

}  // namespace temper::schedule
