// What the progress callback hears, and what is done about silence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "temper/support/error.h"
#include "temper/tune/watchdog.h"
#include "tune_fixture.h"

namespace temper::tune {
namespace {

using Kind = Event::Kind;
using record::FailureKind;
using testing::Fate;
using testing::knob;
using testing::landscape;

class EventTest : public testing::TuneTest {
 protected:
  std::vector<Event> heard(Options told) {
    std::vector<Event> events;
    told.progress = [&](const Event& event) { events.push_back(event); };
    run(told);
    return events;
  }
};

TEST_F(EventTest, EventsTellTheStory) {
  std::vector<Event> events;
  Options told = options();
  told.progress = [&](const Event& event) { events.push_back(event); };
  const Report report = run(told);
  ASSERT_GE(events.size(), 4U);
  EXPECT_EQ(std::ranges::count(events, Event::Kind::TaskStarted, &Event::kind), 1);
  EXPECT_EQ(std::ranges::count(events, Event::Kind::TaskFinished, &Event::kind), 1);
  EXPECT_EQ(events.back().kind, Event::Kind::Finished);
  EXPECT_GE(std::ranges::count(events, Event::Kind::NewBest, &Event::kind), 1);
  double best = std::numeric_limits<double>::infinity();
  for (const Event& event : events) {
    EXPECT_EQ(event.trials + event.trials_left.value(), 24);
    if (event.kind == Event::Kind::NewBest) {
      EXPECT_LT(event.best_seconds, best);
      best = event.best_seconds;
      EXPECT_GT(event.gain(), 1);
    }
  }
  EXPECT_DOUBLE_EQ(best, report.tasks.front().best_seconds);
}

TEST_F(EventTest, TheyComeInOrder) {
  std::vector<Kind> kinds;
  for (const Event& event : heard(options())) {
    const bool repeats = event.kind == Kind::Trial || event.kind == Kind::NewBest || event.kind == Kind::BatchMeasured;
    if (!repeats) kinds.push_back(event.kind);
  }
  EXPECT_THAT(kinds, ::testing::ElementsAre(Kind::Started, Kind::TaskStarted, Kind::RaceStarted, Kind::RaceFinished,
                                            Kind::TaskFinished, Kind::Finished));
}

TEST_F(EventTest, EveryTrialIsToldWithItsFate) {
  use([](const record::CandidateRecord& c) {
    Fate fate = landscape(c);
    if (knob(c, "m") == 2) fate.run_failure = FailureKind::Crash;
    return fate;
  });
  std::int64_t trials = 0, crashes = 0;
  double elapsed = 0;
  for (const Event& event : heard(options())) {
    EXPECT_GE(event.elapsed_seconds, elapsed);
    elapsed = event.elapsed_seconds;
    EXPECT_EQ(event.trial.has_value(), event.kind == Kind::Trial);
    if (!event.trial) continue;
    EXPECT_EQ(event.task_trials, ++trials);
    const auto candidate = record::CandidateRecord::parse(event.trial->candidate);
    const bool crashed = knob(candidate, "m") == 2;
    crashes += crashed ? 1 : 0;
    EXPECT_EQ(event.trial->failure, crashed ? FailureKind::Crash : FailureKind::None);
    EXPECT_EQ(event.trial->reason, crashed ? "failed on purpose" : "");
    EXPECT_DOUBLE_EQ(event.trial->seconds, crashed ? 0 : landscape(candidate).seconds);
    EXPECT_DOUBLE_EQ(event.trial->build_seconds, 0.01);
    const auto counted = event.failures.find("crash");
    EXPECT_EQ(counted == event.failures.end() ? 0 : counted->second, crashes);
  }
  EXPECT_EQ(trials, 24);
  EXPECT_GT(crashes, 0);
}

TEST_F(EventTest, ATaskThatCannotBeTunedSaysWhy) {
  templates_.front().applies = [](const ir::Compute&, const target::Target&) { return false; };
  std::vector<Event> events = heard(options());
  const auto failed = std::ranges::find(events, Kind::TaskFailed, &Event::kind);
  ASSERT_NE(failed, events.end());
  EXPECT_THAT(failed->reason, ::testing::HasSubstr("no template"));
  EXPECT_EQ(failed->key, task_.key.text());
}

/// Opens once, for ever.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Does not return from its second call until the gate opens.
class Silent : public search::Strategy {
 public:
  Silent(const search::StrategyContext& context, Gate& gate)
      : inner_(search::make_strategy("random", context)), gate_(&gate) {}
  std::vector<search::Candidate> ask(int count) override {
    if (++asked_ == 2) gate_->wait();
    return inner_->ask(count);
  }
  void tell(std::span<const search::Told> results) override { inner_->tell(results); }

 private:
  std::unique_ptr<search::Strategy> inner_;
  Gate* gate_;
  int asked_ = 0;
};

TEST_F(EventTest, AStrategyThatDoesNotReturnIsNoticedAndNamed) {
  Gate gate;
  std::vector<Stall> stalls;
  Options watched = options();
  watched.stall_seconds = 0.2;
  watched.make_strategy = [&](const search::StrategyContext& context) {
    return std::make_unique<Silent>(context, gate);
  };
  watched.on_stall = [&](const Stall& stall) {
    stalls.push_back(stall);
    if (stall.alarms == 2) gate.open();  // the first alarm asked for a stop, which helped nothing
  };
  const Report report = run(watched);
  ASSERT_GE(stalls.size(), 2U);
  EXPECT_EQ(stalls[0].what, "searching for candidates of " + task_.name);
  EXPECT_EQ(stalls[0].alarms, 1);
  EXPECT_GE(stalls[0].seconds, 0.2);
  EXPECT_EQ(stalls[1].alarms, 2);
  EXPECT_TRUE(report.cancelled);
  EXPECT_EQ(report.stalled, stalls[0].what);
  EXPECT_EQ(static_cast<std::int64_t>(stored().size()), report.trials) << "what was measured is safe";
  EXPECT_EQ(report.trials, 9);
}

TEST_F(EventTest, AHardwareTestThatDoesNotReturnIsStopped) {
  Options watched = options();
  watched.stall_seconds = 0.2;
  watched.on_stall = [](const Stall&) {};
  hardware_->before_run = [&] {
    if (hardware_->measured.size() < 10) return;
    while (!watched.cancellation.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    throw Error(ErrorCode::Cancelled, "stopped");
  };
  const Report report = run(watched);
  EXPECT_TRUE(report.cancelled);
  EXPECT_EQ(report.stalled, "timing a candidate of " + task_.name);
  EXPECT_EQ(report.trials, 10);
  EXPECT_EQ(stored().size(), 10U);
}

TEST_F(EventTest, WorkThatGoesOnRaisesNoAlarm) {
  Options watched = options();
  watched.on_stall = [](const Stall& stall) { ADD_FAILURE() << stall.what; };
  watched.stall_seconds = 3600;
  const Report report = run(watched);
  EXPECT_EQ(report.stalled, "");
  EXPECT_FALSE(report.cancelled);
}

TEST(Watchdog, EachNoteBeginsTheSilenceAnew) {
  Gate gate;
  std::vector<Stall> stalls;
  std::mutex mutex;
  Watchdog watchdog(0.1, [&](const Stall& stall) {
    const std::lock_guard lock(mutex);
    stalls.push_back(stall);
    if (stall.what == "second") gate.open();
  });
  watchdog.note("first");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  watchdog.note("second");
  gate.wait();
  const std::lock_guard lock(mutex);
  const auto second = std::ranges::find(stalls, "second", &Stall::what);
  ASSERT_NE(second, stalls.end());
  EXPECT_EQ(second->alarms, 1) << "a silence of its own";
}

}  // namespace
}  // namespace temper::tune
