// Several tuners on one store: each takes over what the others have measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "temper/tune/verdict.h"
#include "tune_fixture.h"

namespace temper::tune {
namespace {

using testing::FakeHardware;
using testing::kSampleCandidates;
using testing::landscape;
using testing::TuneTest;

class Together : public TuneTest {
 protected:
  /// Runs a second tuner to its end once the first has measured `after` candidates. What the first measured before and
  /// after that, and what the second did.
  struct Two {
    std::vector<std::string> before, after, second;
    Report report;
  };
  Two run_two(std::int64_t after, std::int64_t second_trials) {
    Two two;
    FakeHardware other(task_.compute, landscape);
    other.clock = &clock_;
    Options first = options();
    first.trials = 1000;
    first.progress = [&](const Event& event) {
      if (event.kind != Event::Kind::BatchMeasured || event.task_trials < after || !two.second.empty()) return;
      two.before = hardware_->measured;
      Options second = options();
      second.hardware = &other;
      second.seed = 99;
      second.trials = second_trials;
      run(second);
      two.second = other.measured;
    };
    two.report = run(first);
    two.after.assign(hardware_->measured.begin() + static_cast<std::ptrdiff_t>(two.before.size()),
                     hardware_->measured.end());
    return two;
  }
};

TEST_F(Together, NothingThatTheOtherHasStoredIsMeasuredAgain) {
  const Two two = run_two(9, 24);
  EXPECT_EQ(two.second.size(), 24U);
  std::set<std::string> seen;
  for (const std::vector<std::string>* part : {&two.before, &two.second, &two.after}) {
    for (const std::string& candidate : *part) EXPECT_TRUE(seen.insert(candidate).second) << candidate << " twice";
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kSampleCandidates)) << "both together have measured the whole space";
  EXPECT_EQ(stored().size(), static_cast<std::size_t>(kSampleCandidates));
}

TEST_F(Together, TheOthersBestIsOnesOwn) {
  const Two two = run_two(9, kSampleCandidates);
  EXPECT_TRUE(two.after.empty()) << "the second has measured all that was left";
  EXPECT_EQ(two.report.tasks.front().resumed, kSampleCandidates - std::ssize(two.before));
  const std::vector<record::Record> best = store_->best(task_.key, target::fingerprint(testing::sample_target()), 1);
  EXPECT_EQ(two.report.tasks.front().best_candidate, best.at(0).candidate.text());
}

}  // namespace
}  // namespace temper::tune
