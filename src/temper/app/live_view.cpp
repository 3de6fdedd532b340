#include "temper/app/live_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "temper/app/options.h"
#include "temper/app/session.h"

namespace temper::app {
namespace {

using Kind = tune::Event::Kind;

std::string left_text(const tune::Event& event) {
  std::string text;
  if (event.trials_left) text += fmt::format("  {} trials left", *event.trials_left);
  if (event.seconds_left) text += fmt::format("  {:.0f} s left", *event.seconds_left);
  return text;
}

/// "2 failed: crash 1, run_timeout 1", or nothing.
std::string failures_text(const std::map<std::string, std::int64_t>& failures) {
  std::int64_t sum = 0;
  std::string kinds;
  for (const auto& [kind, count] : failures) {
    sum += count;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", kind, count);
  }
  return sum == 0 ? "" : fmt::format("  {} failed: {}", sum, kinds);
}

/// How much of the machine's peak the best reaches; empty when that is not known.
std::string roofline_text(const tune::Event& event) {
  if (event.roofline_seconds <= 0 || event.best_seconds <= 0) return "";
  return fmt::format("{:.0f}%", 100 * event.roofline_seconds / event.best_seconds);
}

}  // namespace

void LiveView::hear(const tune::Event& event) {
  latest_ = event;
  if (event.kind == Kind::Started) tasks_.clear();
  if (event.kind == Kind::Started || event.kind == Kind::Finished) return;
  Row& row = tasks_[event.task];
  row.event = event;
  row.raced = event.kind == Kind::RaceFinished || event.kind == Kind::TaskFinished;
}

std::string LiveView::summary() const {
  double before = 0, after = 0;
  std::map<std::string, std::int64_t> failures;
  for (const auto& [number, row] : tasks_) {
    before += row.event.default_seconds * row.event.count;
    after += row.time();
    for (const auto& [kind, count] : row.event.failures) failures[kind] += count;
  }
  std::string text = fmt::format("{} trials{}", latest_.trials, left_text(latest_));
  if (latest_.tasks > 1) text += fmt::format("  {}/{} tasks", tasks_.size(), latest_.tasks);
  if (tasks_.size() > 1 && before > 0 && after > 0)
    text += fmt::format("  all {} -> {} ({:.2f}x)", seconds_text(before), seconds_text(after), before / after);
  return text + failures_text(failures);
}

std::vector<std::string> LiveView::block(std::size_t rows, std::size_t columns) const {
  std::vector<std::string> lines{summary()};
  std::vector<std::size_t> order;
  for (const auto& [number, row] : tasks_) order.push_back(number);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return tasks_.at(i).time(); });
  const bool crowded = order.size() + 2 > rows;
  const std::size_t room = rows < 4 ? 0 : std::min(order.size(), rows - (crowded ? 3 : 2));
  // The task at hand is always among those that are shown.
  const auto shown = order.begin() + static_cast<std::ptrdiff_t>(room);
  if (const auto current = std::find(shown, order.end(), latest_.task); room > 0 && current != order.end())
    std::iter_swap(current, shown - 1);
  if (room > 0) {
    lines.push_back(
        fmt::format("  {:>6} {:>11} {:>11} {:>6} {:>8}  {}", "trials", "default", "best", "gain", "of peak", "task"));
  }
  for (std::size_t i = 0; i < room; ++i) {
    const Row& row = tasks_.at(order[i]);
    const tune::Event& e = row.event;
    const char mark = order[i] == latest_.task ? '>' : row.raced ? '=' : ' ';
    lines.push_back(e.kind == Kind::TaskFailed
                        ? fmt::format("{} failed {}: {}", mark, e.name, e.reason)
                        : fmt::format("{} {:>6} {:>11} {:>11} {:>6} {:>8}  {}x {}", mark, e.task_trials,
                                      e.default_seconds > 0 ? seconds_text(e.default_seconds) : "-",
                                      e.best_seconds > 0 ? seconds_text(e.best_seconds) : "-",
                                      e.default_seconds > 0 ? fmt::format("{:.2f}x", e.gain()) : "-", roofline_text(e),
                                      e.count, e.name));
  }
  if (room > 0 && room < order.size()) lines.push_back(fmt::format("  and {} more tasks", order.size() - room));
  for (std::string& line : lines) line = cut_to(line, columns);
  return lines;
}

std::string event_line(const tune::Event& e) {
  if (e.kind == Kind::TaskFailed) return fmt::format("[{}/{}] {}  failed: {}", e.task + 1, e.tasks, e.name, e.reason);
  std::string line = fmt::format("[{}/{}] {}  trial {}", e.task + 1, e.tasks, e.name, e.task_trials);
  if (e.best_seconds > 0) line += fmt::format("  best {}", seconds_text(e.best_seconds));
  if (e.best_seconds > 0 && e.default_seconds > 0) line += fmt::format("  {:.2f}x over default", e.gain());
  if (const std::string share = roofline_text(e); !share.empty()) line += fmt::format("  {} of peak", share);
  return line + failures_text(e.failures) + left_text(e);
}

}  // namespace temper::app
