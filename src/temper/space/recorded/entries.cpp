#include "temper/space/recorded/entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

struct Unit {
  const char* name;
  double seconds;
};
constexpr Unit kUnits[] = {
    {"seconds", 1},
    {"second", 1},
    {"sec", 1},
    {"s", 1},
    {"milliseconds", 1e-3},
    {"millisecond", 1e-3},
    {"miliseconds", 1e-3},
    {"ms", 1e-3},
    {"msec", 1e-3},
    {"microseconds", 1e-6},
    {"microsecond", 1e-6},
    {"us", 1e-6},
    {"usec", 1e-6},
    {"nanoseconds", 1e-9},
    {"nanosecond", 1e-9},
    {"ns", 1e-9},
};

/// What old caches write as the time of a configuration that failed.
constexpr double kFailedTime = 1e20;

record::FailureKind failure_named(const std::string& text) {
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (has("ompil")) return record::FailureKind::CompileError;
  if (has("nvalid") || has("onstraint")) return record::FailureKind::ResourceLimit;
  if (has("orrect") || has("erif")) return record::FailureKind::WrongResult;
  if (has("imeout")) return record::FailureKind::RunTimeout;
  return record::FailureKind::Crash;
}

}  // namespace

double seconds_of_unit(const std::string& unit, const std::string& where) {
  for (const Unit& known : kUnits) {
    if (unit == known.name) return known.seconds;
  }
  throw Error(ErrorCode::InvalidArgument, "the unit of time '" + unit + "' is unknown", where,
              "write seconds, milliseconds, microseconds or nanoseconds");
}

void require_time(const std::string& objective, const std::string& where) {
  if (objective.find("time") != std::string::npos) return;
  throw Error(ErrorCode::Unsupported, "the objective '" + objective + "' is no time", where,
              "only recordings of times can be replayed");
}

std::optional<double> read_number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return std::nullopt;
  return number_in(json.get<std::string>());
}

void set_time(Entry& entry, const Json& json, double unit_seconds) {
  const std::optional<double> time = read_number(json);
  if (time && std::isfinite(*time) && *time > 0 && *time < kFailedTime) {
    entry.seconds = *time * unit_seconds;
    return;
  }
  entry.reason = json.is_string() ? json.get<std::string>() : json.is_null() ? "no time" : "the time is " + json.dump();
  entry.failure = failure_named(entry.reason);
}

double sum_of(const Json& json) {
  if (json.is_array()) {
    double sum = 0;
    for (const Json& item : json) sum += sum_of(item);
    return sum;
  }
  const double value = read_number(json).value_or(0);
  return std::isfinite(value) && value > 0 && value < kFailedTime ? value : 0;
}

void Oddities::add(const std::string& what, const std::string& place) {
  const auto known = std::find_if(oddities_.begin(), oddities_.end(), [&](const Oddity& o) { return o.what == what; });
  if (known == oddities_.end()) {
    oddities_.push_back({what, place, 1});
  } else {
    ++known->count;
  }
}

void Oddities::append_to(std::vector<std::string>& notes) const {
  for (const Oddity& oddity : oddities_) {
    notes.push_back(fmt::format("{} {} {}, first at {}", oddity.count, oddity.count == 1 ? "entry" : "entries",
                                oddity.what, oddity.place));
  }
}

}  // namespace temper::space::recorded
