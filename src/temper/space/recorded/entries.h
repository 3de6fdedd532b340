// The entries of a recorded file before they are numbered. Internal to recording.cpp and the readers of formats.
#pragma once

#include <string>
#include <vector>

#include "temper/space/recorded/recording.h"

namespace temper::space::recorded {

struct RawEntry {
  std::vector<Value> values;  ///< of `parameter_names`
  Entry entry;                ///< without `choice`
};

struct RawRecording {
  std::vector<std::string> parameter_names;
  std::vector<RawEntry> entries;
  std::vector<std::string> notes;
};

/// Both throw what `read_recording` throws.
RawRecording read_t4(const Json& root, const std::string& where);
RawRecording read_kernel_tuner_cache(const Json& root, const std::string& where);

/// Seconds that one unit has. Throws Error{InvalidArgument} for an unknown unit.
double seconds_of_unit(const std::string& unit, const std::string& where);
/// Throws Error{Unsupported} unless the objective is a time.
void require_time(const std::string& objective, const std::string& where);
/// A number, or a text that is written like one.
std::optional<double> read_number(const Json& json);
/// Sets the time of an entry, or its failure when `json` is no time; a text gives the reason.
void set_time(Entry& entry, const Json& json, double unit_seconds);
/// Sum of what is a number in `json`, a number or a list; 0 for anything else.
double sum_of(const Json& json);

/// Counts what was amiss, by kind, and says where it was first.
class Oddities {
 public:
  void add(const std::string& what, const std::string& place);
  void append_to(std::vector<std::string>& notes) const;

 private:
  struct Oddity {
    std::string what, place;
    std::size_t count = 0;
  };
  std::vector<Oddity> oddities_;
};

}  // namespace temper::space::recorded
