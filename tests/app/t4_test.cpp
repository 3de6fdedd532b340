// What `temper db export --format t4` writes is read by `space/recorded`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "store/fixtures.h"
#include "temper/space/recorded/recorded_space.h"
#include "temper/store/sqlite_store.h"
#include "temper/store/t4_export.h"

namespace temper::app {
namespace {

using record::FailureKind;
using store::testing::failed;
using store::testing::matmul;
using store::testing::measured;

TEST(T4RoundTrip, EveryRecordThatRanOrFailedIsReadBack) {
  const store::testing::TemporaryFolder folder;
  const auto store = store::open_in_memory();
  std::vector<record::Record> records;
  for (int tile = 0; tile < 20; ++tile) {
    records.push_back(measured(matmul(1), tile, 1e-6 * (1 + tile * 7 % 20)));
    records.back().measurement.build_seconds = 0.25;
    records.back().measurement.run_seconds = 0.5;
    if (tile % 2 == 1) records.back().candidate = {"winograd2/tiled", {{"rows", tile}, {"tile", 1}}};
  }
  const std::map<FailureKind, FailureKind> read_as = {{FailureKind::CompileError, FailureKind::CompileError},
                                                      {FailureKind::CompileTimeout, FailureKind::CompileError},
                                                      {FailureKind::RunTimeout, FailureKind::RunTimeout},
                                                      {FailureKind::WrongResult, FailureKind::WrongResult},
                                                      {FailureKind::OutOfBounds, FailureKind::WrongResult},
                                                      {FailureKind::ResourceLimit, FailureKind::Crash},
                                                      {FailureKind::Crash, FailureKind::Crash},
                                                      {FailureKind::Unstable, FailureKind::Crash}};
  int tile = 100;
  for (const auto& [kind, read] : read_as) records.push_back(failed(matmul(1), tile++, kind, "why"));
  records.push_back(failed(matmul(1), 999, FailureKind::InvalidSchedule, "refused"));
  store->append(records);
  const std::filesystem::path path = folder.file("task.json");
  ASSERT_EQ(store::export_t4(*store, matmul(1), "zen4", path), 29);

  const space::recorded::RecordedSpace space(space::recorded::read_recordings(std::vector{path}).front());
  const space::recorded::Recording& recording = space.recording();
  EXPECT_EQ(recording.entries.size(), 28U);
  ASSERT_EQ(recording.notes.size(), 1U) << "a schedule that was refused is no part of the space";
  EXPECT_THAT(recording.notes[0], ::testing::HasSubstr("1 entry that broke the constraints left out"));
  EXPECT_EQ(space.index().size(), 28U);

  std::map<std::string, const record::Record*> by_candidate;
  for (const record::Record& r : records) by_candidate[r.candidate.text()] = &r;
  for (const space::recorded::Entry& entry : recording.entries) {
    record::CandidateRecord candidate;
    std::map<std::string, std::int64_t> knobs;
    for (std::size_t i = 0; i < recording.parameters.size(); ++i) {
      const space::recorded::Value& value = recording.parameters[i].values[static_cast<std::size_t>(entry.choice[i])];
      if (recording.parameters[i].name == "design") {
        candidate.design = value.text();
      } else if (*value.whole() != -1) {
        knobs[recording.parameters[i].name] = *value.whole();
      }
    }
    candidate.knobs.assign(knobs.begin(), knobs.end());
    ASSERT_TRUE(by_candidate.contains(candidate.text())) << candidate.text();
    const record::Measurement& m = by_candidate[candidate.text()]->measurement;
    if (m.ok()) {
      EXPECT_EQ(entry.failure, FailureKind::None);
      EXPECT_NEAR(entry.seconds, m.min_seconds, 1e-12 * m.min_seconds);
    } else {
      EXPECT_EQ(entry.failure, read_as.at(m.failure));
      EXPECT_EQ(entry.reason, to_string(m.failure));
    }
    EXPECT_NEAR(entry.spent_seconds, m.build_seconds + m.run_seconds, 1e-9);
  }
}

}  // namespace
}  // namespace temper::app
