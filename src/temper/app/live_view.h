// What a tuning run shows of itself while it goes on: a block of rows on a terminal, single lines elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "temper/tune/event.h"

namespace temper::app {

class LiveView {
 public:
  /// Takes up what an event says. `Started` forgets all tasks.
  void hear(const tune::Event& event);

  /// At most `rows` rows (at least one) of at most `columns` bytes: what is left of the budget, failures by kind, then
  /// the tasks that take most of the time, the one at hand marked.
  std::vector<std::string> block(std::size_t rows, std::size_t columns) const;

 private:
  struct Row {
    tune::Event event;  ///< the latest of the task
    bool raced = false;
    double time() const { return event.best_seconds * event.count; }
  };
  std::string summary() const;

  std::map<std::size_t, Row> tasks_;
  tune::Event latest_;
};

/// An event as a line of a log: the task, its trials, best, gain over the default, share of the roofline, failures by
/// kind, what is left.
std::string event_line(const tune::Event& event);

}  // namespace temper::app
