#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "store/fixtures.h"
#include "temper/store/sqlite_store.h"

namespace temper::store {
namespace {

using ::testing::ElementsAre;
using testing::failed;
using ::testing::HasSubstr;
using testing::matmul;
using testing::measured;

Wanted wanted(const TaskKey& task) { return {task, "zen4", 0xf00d, "0.1.0"}; }

TEST(WhyNot, AnEmptyStoreSaysSo) {
  const Miss miss = open_in_memory()->why_not(wanted(matmul(1)));
  EXPECT_TRUE(miss.empty);
  EXPECT_FALSE(miss.hit);
  EXPECT_EQ(miss.text(), "The database holds no records.");
}

TEST(WhyNot, AUsableRecordIsAHitEvenBesideAFasterStaleOne) {
  const auto store = open_in_memory();
  Record stale = measured(matmul(1), 2, 1e-6);
  stale.definition_hash = 1;
  store->append(std::vector{stale, measured(matmul(1), 1, 1e-3)});
  const Miss miss = store->why_not(wanted(matmul(1)));
  EXPECT_TRUE(miss.hit);
  EXPECT_EQ(miss.nearest->candidate.knobs.at(0).second, 1);
}

TEST(WhyNot, NamesTheFieldsOfTheKeyThatDiffer) {
  const auto store = open_in_memory();
  store->append(std::vector{measured(matmul(1), 1, 1e-3), measured({"softmax", {{"m", "2"}}}, 1, 1e-3)});
  TaskKey key = matmul(2);
  key.fields[2].first = "workers";
  const Miss miss = store->why_not(wanted(key));
  EXPECT_THAT(miss.differences, ElementsAre(Difference{"key m", "2", "1"}, Difference{"key workers", "1", ""},
                                            Difference{"key threads", "", "1"}));
  EXPECT_THAT(miss.text(), HasSubstr("key m: wanted '2', found '1'"));
  EXPECT_THAT(miss.text(), HasSubstr("key workers: wanted '1', found nothing"));
  EXPECT_THAT(miss.text(), HasSubstr("matmul(m=1,n=512,threads=1) on zen4"));
}

TEST(WhyNot, NamesTheOperatorWhenNothingOfItIsStored) {
  const auto store = open_in_memory();
  store->append(std::vector{measured({"softmax", {}}, 1, 1e-3)});
  EXPECT_THAT(store->why_not(wanted({"relu", {}})).differences, ElementsAre(Difference{"operator", "relu", "softmax"}));
}

TEST(WhyNot, NamesTheTarget) {
  const auto store = open_in_memory();
  store->append(std::vector{measured(matmul(1), 1, 1e-3, "skylake"), measured(matmul(2), 1, 1e-3)});
  // One difference each; the task itself on another target stands first.
  EXPECT_THAT(store->why_not(wanted(matmul(1))).differences, ElementsAre(Difference{"target", "zen4", "skylake"}));
}

TEST(WhyNot, NamesVersionAndDefinitionAndSchema) {
  const auto store = open_in_memory();
  Record r = measured(matmul(1), 1, 1e-3);
  r.temper_version = "0.0.9";
  r.definition_hash = 0xbeef;
  store->append(std::vector{r});
  EXPECT_THAT(store->why_not(wanted(matmul(1))).differences,
              ElementsAre(Difference{"temper version", "0.1.0", "0.0.9"},
                          Difference{"definition", "000000000000f00d", "000000000000beef"}));
  EXPECT_TRUE(store->why_not({matmul(1), "zen4", std::nullopt, ""}).hit) << "what is not asked for cannot differ";
  r.candidate.knobs[0].second = 2;
  r.schema = 0;
  r.temper_version = "0.1.0";
  r.definition_hash = 0xf00d;
  store->append(std::vector{r});
  EXPECT_THAT(store->why_not(wanted(matmul(1))).differences, ElementsAre(Difference{"schema", "1", "0"}));
}

TEST(WhyNot, TheRecordWithTheFewestObjectionsIsTheNearest) {
  const auto store = open_in_memory();
  Record one = measured(matmul(1), 1, 2e-3), two = measured(matmul(1), 2, 3e-3), both = measured(matmul(1), 3, 1e-3);
  one.temper_version = two.temper_version = both.temper_version = "0.0.9";
  two.definition_hash = both.definition_hash = 1;
  store->append(std::vector{one, two, both});
  EXPECT_EQ(store->why_not(wanted(matmul(1))).nearest->candidate.knobs.at(0).second, 1);
}

TEST(WhyNot, SaysThatEverythingTriedHasFailed) {
  const auto store = open_in_memory();
  store->append(std::vector{failed(matmul(1), 1, record::FailureKind::Crash, "SIGILL")});
  const Miss miss = store->why_not(wanted(matmul(1)));
  EXPECT_FALSE(miss.hit);
  EXPECT_THAT(miss.differences, ElementsAre(Difference{"failure", "none", "crash: SIGILL"}));
}

TEST(WhyNot, TheDefinitionOfAnotherKeyIsNoReason) {
  const auto store = open_in_memory();
  Record r = measured(matmul(1), 1, 1e-3);
  r.definition_hash = 1;
  store->append(std::vector{r});
  EXPECT_THAT(store->why_not(wanted(matmul(2))).differences, ElementsAre(Difference{"key m", "2", "1"}));
}

}  // namespace
}  // namespace temper::store
