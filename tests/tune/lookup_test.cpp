#include "temper/tune/lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "sample_task.h"
#include "temper/schedule/trace.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"
#include "temper/tune/verdict.h"
#include "temper/tune/version.h"

namespace temper::tune {
namespace {

using testing::sample_target;
using testing::sample_task;
using testing::sample_templates;

class LookupTest : public ::testing::Test {
 protected:
  record::Record record(std::int64_t m, double seconds, const std::string& origin = "evolutionary") const {
    record::Record r;
    r.task = task_.key;
    r.target = target::fingerprint(sample_target());
    r.definition_hash = task_.definition_hash;
    r.temper_version = version();
    r.candidate = {"tiled", {{"m", m}, {"n", 2}, {"k", 2}, {"bad", 0}}};
    r.measurement.min_seconds = r.measurement.median_seconds = seconds;
    r.strategy = origin;
    return r;
  }
  void add(const record::Record& r) { store_->append(std::span(&r, 1)); }
  LookedUp find(const store::Store* store) { return schedule_for(store, task_, sample_target(), templates_); }

  Task task_ = sample_task();
  std::vector<space::Template> templates_ = sample_templates();
  std::unique_ptr<store::Store> store_ = store::open_in_memory();
};

TEST_F(LookupTest, AMissGivesTheDefault) {
  EXPECT_FALSE(best(*store_, task_, sample_target()).has_value());
  for (const store::Store* store :
       {static_cast<const store::Store*>(nullptr), static_cast<const store::Store*>(store_.get())}) {
    const LookedUp found = find(store);
    EXPECT_FALSE(found.record.has_value());
    EXPECT_EQ(schedule::print(found.schedule.trace()), "split C m 1 peel\nsplit C n 1 peel\nsplit C k 1 peel\n");
  }
}

TEST_F(LookupTest, TheFastestRecordIsMaterialised) {
  add(record(2, 2e-3));
  add(record(4, 1e-3));
  const LookedUp found = find(store_.get());
  ASSERT_TRUE(found.record.has_value());
  EXPECT_EQ(found.record->candidate, record(4, 0).candidate);
  EXPECT_THAT(schedule::print(found.schedule.trace()), ::testing::HasSubstr("split C m 4 peel"));
  EXPECT_EQ(found.compute, &task_.compute);
}

TEST_F(LookupTest, ATraceReplaysWithoutItsTemplate) {
  record::Record r = record(4, 1e-3);
  r.candidate.design = "gone";
  r.trace = "split C n 4 peel\n";
  add(r);
  EXPECT_EQ(schedule::print(find(store_.get()).schedule.trace()), *r.trace);
}

TEST_F(LookupTest, TheDefaultWinsAgainstWhatIsOnlyLuckier) {
  add(record(1, 1e-3, kDefaultOrigin));
  add(record(4, 0.995e-3));
  EXPECT_EQ(best(*store_, task_, sample_target())->strategy, kDefaultOrigin);
  add(record(2, 0.9e-3));
  EXPECT_EQ(best(*store_, task_, sample_target())->candidate, record(2, 0).candidate);
}

TEST_F(LookupTest, OfTiedMinimaTheLeastMedianWins) {
  const auto settled = [&](std::int64_t m, double least, double median, int repeats) {
    record::Record r = record(m, least);
    r.measurement.median_seconds = median;
    r.measurement.repeats = repeats;
    add(r);
  };
  settled(1, 1.00e-3, 1.20e-3, 24);
  EXPECT_EQ(best(*store_, task_, sample_target())->candidate, record(1, 0).candidate);
  settled(2, 1.01e-3, 1.02e-3, 6);  // too few samples for a median
  EXPECT_EQ(best(*store_, task_, sample_target())->candidate, record(1, 0).candidate);
  settled(8, 1.04e-3, 1.05e-3, 24);  // slower at its best beyond a tie
  EXPECT_EQ(best(*store_, task_, sample_target())->candidate, record(1, 0).candidate);
  settled(4, 1.02e-3, 1.06e-3, 24);
  EXPECT_EQ(best(*store_, task_, sample_target())->candidate, record(4, 0).candidate);
}

TEST_F(LookupTest, ARecordThatCannotBeBuiltIsPassedOverAndNamed) {
  record::Record broken = record(8, 0.1e-3);
  broken.trace = "split C nowhere 4 peel\n";
  add(broken);
  add(record(4, 1e-3));
  const LookedUp found = find(store_.get());
  EXPECT_EQ(found.record->candidate, record(4, 0).candidate);
  EXPECT_THAT(found.note, ::testing::HasSubstr("is passed over"));
}

TEST_F(LookupTest, RecordsOfAnotherDefinitionVersionSchemaOrTargetAreNeverApplied) {
  const auto expect_default = [&](const std::string& note) {
    EXPECT_FALSE(best(*store_, task_, sample_target()).has_value());
    const LookedUp found = find(store_.get());
    EXPECT_FALSE(found.record.has_value());
    EXPECT_THAT(found.note, ::testing::HasSubstr(note));
  };
  record::Record elsewhere = record(8, 1e-7);
  elsewhere.target = "another";
  add(elsewhere);
  expect_default("");
  record::Record other = record(8, 0.1e-3);
  other.definition_hash ^= 1;
  add(other);
  expect_default("record 2 is passed over: it is of another definition; `temper db revalidate` checks such records");
  record::Record schema = record(4, 0.05e-3);
  schema.schema = record::kRecordSchema - 1;
  add(schema);
  expect_default("record 3 is passed over");
  record::Record old = record(2, 0.01e-3, kDefaultOrigin);
  old.temper_version = "0.0.1";
  add(old);
  expect_default("record 4 is passed over: it is of another Temper version; `temper db revalidate`");
  add(record(1, 1e-3));
  EXPECT_EQ(best(*store_, task_, sample_target())->candidate, record(1, 0).candidate)
      << "the default of another version is none to be held against";
  EXPECT_EQ(find(store_.get()).note, "");
}

TEST_F(LookupTest, AnAlternativeIsScheduledByItsOwnDefinition) {
  task_.alternatives.push_back({"swapped", testing::product(8, 8, 8)});
  record::Record r = record(4, 1e-3);
  r.candidate.design = "swapped/tiled";
  add(r);
  EXPECT_EQ(find(store_.get()).compute, &task_.alternatives.front().compute);
}

TEST_F(LookupTest, AnAlternativeIsUsedWithinTheErrorThatIsAllowed) {
  task_.alternatives.push_back({"swapped", testing::product(8, 8, 8)});
  record::Record far = record(4, 1e-3);
  far.candidate.design = "swapped/tiled";
  far.measurement.max_error = 2e-5;
  add(far);
  const auto chosen = [&](double max_error) {
    return schedule_for(store_.get(), task_, sample_target(), templates_, max_error);
  };
  EXPECT_EQ(chosen(kMaxError).record->candidate, far.candidate);
  EXPECT_EQ(chosen(2e-5).record->candidate, far.candidate);
  EXPECT_EQ(chosen(2e-5).note, "");
  EXPECT_FALSE(chosen(1e-5).record.has_value());
  EXPECT_EQ(chosen(1e-5).note,
            "record 1 is passed over: it differs from the reference by 2e-05 of the largest output; other algorithms "
            "may differ by 1e-05");
  EXPECT_FALSE(best(*store_, task_, sample_target(), 1e-5).has_value());
  EXPECT_FALSE(best(*store_, task_, sample_target(), 0).has_value());
  EXPECT_TRUE(best(*store_, task_, sample_target()).has_value());
  const Built built = artifact_for(store_.get(), task_, target::detect(), Mode::Cached, templates_, 1e-5);
  EXPECT_FALSE(built.record.has_value());
}

TEST_F(LookupTest, AnAlternativeWithoutErrorIsNoneThatAnErrorOfZeroAllows) {
  task_.alternatives.push_back({"swapped", testing::product(8, 8, 8)});
  record::Record exact = record(4, 1e-3);
  exact.candidate.design = "swapped/tiled";
  add(exact);
  EXPECT_TRUE(best(*store_, task_, sample_target(), 1e-30).has_value());
  EXPECT_FALSE(best(*store_, task_, sample_target(), 0).has_value());
}

TEST_F(LookupTest, RecordsOfTheReferenceAreUsedWhateverTheirError) {
  record::Record r = record(4, 1e-3);
  r.measurement.max_error = 0.5;
  add(r);
  EXPECT_EQ(best(*store_, task_, sample_target(), 0)->candidate, r.candidate);
}

TEST_F(LookupTest, ManyFasterRecordsThatDifferTooMuchHideNoUsableOne) {
  task_.alternatives.push_back({"swapped", testing::product(8, 8, 8)});
  for (int i = 0; i < 40; ++i) {
    record::Record far = record(4, 1e-3 + i * 1e-6);
    far.candidate = {"swapped/tiled", {{"m", 4}, {"n", 2}, {"k", 2}, {"bad", i}}};
    far.measurement.max_error = 1e-3;
    add(far);
  }
  add(record(2, 5e-3));
  EXPECT_EQ(best(*store_, task_, sample_target())->candidate, record(2, 0).candidate);
  EXPECT_THAT(find(store_.get()).note, ::testing::StartsWith("record 1 is passed over"));
}

TEST_F(LookupTest, TheEnvironmentSaysWhetherRecordsAreUsed) {
  const auto mode = [](const char* text) {
    setenv("TEMPER_TUNE", text, 1);
    return mode_from_environment();
  };
  EXPECT_EQ(mode("off"), Mode::Off);
  EXPECT_EQ(mode("on"), Mode::On);
  EXPECT_EQ(mode("cached"), Mode::Cached);
  EXPECT_THROW(mode("sometimes"), Error);
  unsetenv("TEMPER_TUNE");
  EXPECT_EQ(mode_from_environment(), Mode::Cached);
}

}  // namespace
}  // namespace temper::tune
