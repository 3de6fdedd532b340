// What a tuning run shows and writes of itself while it goes on: live view, lines of a log, events as JSON Lines.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/temporary_folder.h"
#include "temper/app/event_log.h"
#include "temper/app/live_view.h"
#include "temper/support/error.h"

namespace temper::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Kind = tune::Event::Kind;
using temper::testing::TemporaryFolder;

tune::Event event_of(std::size_t task, double best_seconds, int count = 1, Kind kind = Kind::BatchMeasured) {
  tune::Event event;
  event.kind = kind;
  event.task = task;
  event.tasks = 30;
  event.name = "task" + std::to_string(task);
  event.key = "matmul(m=" + std::to_string(task) + ")";
  event.count = count;
  event.task_trials = 16;
  event.trials = 48;
  event.trials_left = 152;
  event.default_seconds = 2 * best_seconds;
  event.best_seconds = best_seconds;
  return event;
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(LiveView, ShowsTheTasksThatTakeMostAndTheOneAtHand) {
  LiveView view;
  for (std::size_t task = 0; task < 30; ++task) view.hear(event_of(task, 1e-3 * static_cast<double>(task + 1)));
  view.hear(event_of(3, 1e-3));
  const std::vector<std::string> rows = view.block(8, 100);
  ASSERT_EQ(rows.size(), 8U);
  EXPECT_THAT(rows[0], HasSubstr("48 trials"));
  EXPECT_THAT(rows[0], HasSubstr("152 trials left"));
  EXPECT_THAT(rows[0], HasSubstr("30/30 tasks"));
  EXPECT_THAT(rows[0], HasSubstr("(2.00x)"));
  EXPECT_THAT(rows[2], HasSubstr("1x task29"));
  EXPECT_THAT(rows[6], ::testing::AllOf(HasSubstr("task3"), ::testing::StartsWith(">")));
  EXPECT_THAT(rows[7], HasSubstr("25 more"));
  for (const std::string& row : rows) EXPECT_LE(row.size(), 100U);
  for (const std::string& row : view.block(8, 20)) EXPECT_LE(row.size(), 20U);
}

TEST(LiveView, FitsIntoAnyNumberOfRows) {
  LiveView view;
  for (std::size_t task = 0; task < 12; ++task) view.hear(event_of(task, 1e-3));
  for (std::size_t rows = 1; rows < 20; ++rows) EXPECT_LE(view.block(rows, 80).size(), rows);
  EXPECT_EQ(view.block(14, 80).size(), 14U) << "the summary, a heading and twelve tasks";
}

TEST(LiveView, CountsFailuresOfAllTasksByKind) {
  LiveView view;
  tune::Event crashed = event_of(0, 1e-3), slow = event_of(1, 1e-3);
  crashed.failures = {{"crash", 2}};
  slow.failures = {{"crash", 1}, {"run_timeout", 3}};
  view.hear(crashed);
  view.hear(slow);
  EXPECT_THAT(view.block(10, 200)[0], HasSubstr("6 failed: crash 3, run_timeout 3"));
  tune::Event anew;
  anew.kind = Kind::Started;
  view.hear(anew);
  EXPECT_THAT(view.block(10, 200)[0], Not(HasSubstr("failed")));
}

TEST(EventLine, HasWhatMatters) {
  tune::Event event = event_of(4, 1e-3);
  event.roofline_seconds = 0.9e-3;
  event.failures = {{"crash", 1}};
  EXPECT_EQ(
      event_line(event),
      "[5/30] task4  trial 16  best 1.000 ms  2.00x over default  90% of peak  1 failed: crash 1  152 trials left");
  event.kind = Kind::TaskFailed;
  event.reason = "no template applies";
  EXPECT_EQ(event_line(event), "[5/30] task4  failed: no template applies");
}

TEST(EventLog, OneObjectALineAtOnce) {
  const TemporaryFolder folder;
  EventLog log(folder / "events.jsonl");
  tune::Event event = event_of(1, 1e-3, 3, Kind::Trial);
  event.trial = tune::TrialEvent{"gemm{m=4}", "evolutionary", record::FailureKind::Crash, "bad\n\xff", 0, 0.1, 0.2};
  EXPECT_FALSE(log.write(event_json(event)).has_value());
  ASSERT_EQ(lines_of(folder / "events.jsonl").size(), 1U) << "written when the call returns";
  EXPECT_FALSE(log.write(event_json(tune::Stall{"searching", 300, 1})).has_value());
  const std::vector<std::string> lines = lines_of(folder / "events.jsonl");
  ASSERT_EQ(lines.size(), 2U);
  const nlohmann::json trial = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(trial["event"], "trial");
  EXPECT_EQ(trial["schema"], kEventSchema);
  EXPECT_EQ(trial["task"], 1);
  EXPECT_EQ(trial["count"], 3);
  EXPECT_EQ(trial["key"], "matmul(m=1)");
  EXPECT_EQ(trial["trials_left"], 152);
  EXPECT_FALSE(trial.contains("seconds_left"));
  EXPECT_EQ(trial["trial"]["failure"], "crash");
  EXPECT_FALSE(trial["trial"].contains("seconds"));
  EXPECT_THAT(trial["trial"]["reason"].get<std::string>(), HasSubstr("bad\n"));
  EXPECT_EQ(nlohmann::json::parse(lines[1])["event"], "stalled");
}

TEST(EventLog, AnUnwritablePlaceIsAnErrorBeforeAnythingElse) {
  const TemporaryFolder folder;
  const auto code = [](const std::filesystem::path& path) {
    try {
      const EventLog log(path);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
      EXPECT_FALSE(error.hint().empty());
      return error.code();
    }
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code(folder / "no/such/folder/events.jsonl"), ErrorCode::NotFound);
  EXPECT_EQ(code(folder.path()), ErrorCode::Io);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(code(folder / "pipe"), ErrorCode::Io) << "a pipe that nobody reads";
}

TEST(EventLog, AFullDiskIsSaidOnce) {
  EventLog log("/dev/full");
  const std::optional<std::string> trouble = log.write({{"event", "started"}});
  ASSERT_TRUE(trouble.has_value());
  EXPECT_THAT(*trouble, HasSubstr("/dev/full: No space left"));
  EXPECT_FALSE(log.write({{"event", "finished"}}).has_value());
}

TEST(EventLog, AReaderThatLeavesEndsTheEventsAndNotTheProcess) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int reader = open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EventLog log(folder / "pipe");
  EXPECT_FALSE(log.write({{"event", "started"}}).has_value());
  close(reader);
  EXPECT_THAT(log.write({{"event", "batch"}}).value_or(""), HasSubstr("Broken pipe"));
  EXPECT_FALSE(log.write({{"event", "finished"}}).has_value());
  sigset_t pending{};
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << "no signal is left behind";
}

TEST(EventLog, AReaderThatDoesNotReadHoldsUpNothing) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int reader = open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EventLog log(folder / "pipe");
  const nlohmann::json large{{"event", std::string(40'000, 'x')}};
  std::optional<std::string> trouble;
  for (int i = 0; i < 100 && !trouble; ++i) trouble = log.write(large);
  EXPECT_THAT(trouble.value_or(""), HasSubstr("does not read"));
  close(reader);
}

}  // namespace
}  // namespace temper::app
