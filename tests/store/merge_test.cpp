#include "temper/store/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "paths.h"
#include "store/fixtures.h"
#include "temper/record/json.h"
#include "temper/store/conflict.h"
#include "temper/store/sqlite_connection.h"
#include "temper/store/sqlite_store.h"

namespace temper::store {
namespace {

using record::FailureKind;
using testing::error_of;
using testing::expect_helpful;
using testing::failed;
using testing::matmul;
using testing::measured;
using testing::read_file;
using testing::TemporaryFolder;

using Paths = std::vector<std::filesystem::path>;

/// Every record without its number, in the order of task and candidate.
std::vector<std::string> contents(const Store& store) {
  std::vector<std::string> lines;
  store.for_each([&](const Record& r) { lines.push_back(record::to_json_line(r)); });
  std::ranges::sort(lines);
  return lines;
}

std::filesystem::path make(const TemporaryFolder& folder, const std::string& name, const std::vector<Record>& records) {
  open_sqlite(folder.file(name), OpenMode::Create)->append(records);
  return folder.file(name);
}

/// Records of one candidate, each saying more than the one before it.
std::vector<Record> rising() {
  std::vector<Record> out;
  const auto add = [&](FailureKind kind, int repeats, std::int64_t when, double seconds, const std::string& version) {
    Record r = measured(matmul(1), 1, seconds);
    r.measurement.failure = kind;
    r.measurement.repeats = repeats;
    r.created_unix_ms = when;
    r.temper_version = version;
    out.push_back(r);
  };
  add(FailureKind::WrongResult, 99, 9, 1, "0.9.2");
  add(FailureKind::Unstable, 5, 1, 1, "0.10.0");  // the newer version, whatever it says
  add(FailureKind::RunTimeout, 0, 1, 1, "0.10.0");
  add(FailureKind::None, 5, 9, 1, "0.10.0");
  add(FailureKind::None, 24, 1, 3, "0.10.0");  // more samples
  add(FailureKind::None, 24, 2, 3, "0.10.0");  // later
  add(FailureKind::None, 24, 2, 1, "0.10.0");  // faster
  add(FailureKind::Crash, 0, 1, 0, "0.10.0");  // what crashed once is not used
  return out;
}

TEST(Conflict, TheOrderIsTotal) {
  const std::vector<Record> records = rising();
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (std::size_t j = 0; j < records.size(); ++j)
      EXPECT_EQ(outranks(records[i], records[j]), i > j) << i << " and " << j;
  }
}

TEST(Merge, BringsWhatIsNewAndKeepsWhatSaysMore) {
  const TemporaryFolder folder;
  Record raced = measured(matmul(1), 1, 2e-3);
  raced.measurement.repeats = 24;
  raced.trace = "the winner's";
  const auto theirs = make(folder, "theirs.db", {raced, measured(matmul(1), 2, 1e-9), measured(matmul(7), 1, 1)});
  Record better = measured(matmul(1), 2, 3e-3);
  better.measurement.repeats = 24;
  const auto mine = open_sqlite(folder.file("mine.db"), OpenMode::Create);
  mine->append(std::vector{measured(matmul(1), 1, 1e-3), better, failed(matmul(1), 3, FailureKind::Crash, "SIGILL")});
  const std::vector<MergedFile> merged = merge(*mine, Paths{theirs}, {});
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].appended, (Appended{1, 1, 1}));
  std::map<std::int64_t, double> seconds;
  for (const Record& r : mine->all(matmul(1), "zen4")) seconds[r.candidate.knobs[0].second] = r.measurement.min_seconds;
  EXPECT_EQ(seconds, (std::map<std::int64_t, double>{{1, 2e-3}, {2, 3e-3}, {3, 0}}));
  EXPECT_EQ(mine->best(matmul(1), "zen4", 1).at(0).trace, "the winner's");
  EXPECT_EQ(mine->all(matmul(7), "zen4").size(), 1u);
}

TEST(Merge, AgainChangesNothingAndTheOrderOfFilesDoesNotMatter) {
  const TemporaryFolder folder;
  std::vector<Record> records = rising();
  Paths files;
  for (std::size_t i = 0; i < records.size(); ++i)
    files.push_back(make(folder, std::to_string(i) + ".db", {records[i], measured(matmul(2), static_cast<int>(i), 1)}));
  std::vector<std::string> expected;
  for (int turn = 0; turn < 4; ++turn) {
    const auto store = open_in_memory();
    merge(*store, files, {});
    if (expected.empty()) expected = contents(*store);
    EXPECT_EQ(contents(*store), expected) << turn;
    for (const MergedFile& again : merge(*store, files, {})) {
      EXPECT_EQ(again.appended.inserted, 0);
      EXPECT_EQ(again.appended.replaced, 0);
    }
    EXPECT_EQ(contents(*store), expected) << turn;
    std::ranges::rotate(files, files.begin() + 3);
    if (turn == 1) std::ranges::reverse(files);
  }
  EXPECT_EQ(expected.size(), records.size() + 1);
}

TEST(Merge, OtherFilesStayAsTheyAreAndOlderSchemasAreRead) {
  const TemporaryFolder folder;
  Connection(folder.file("old.db"), Connection::Access::Create, std::chrono::seconds(1))
      .execute(read_file(paths::source() + "/tests/store/version1.sql"));
  const auto other = make(folder, "other.db", {measured(matmul(9), 1, 1)});
  const std::string old_bytes = read_file(folder.file("old.db")), other_bytes = read_file(other);
  const auto store = open_sqlite(folder.file("mine.db"), OpenMode::Create);
  const std::vector<MergedFile> merged = merge(*store, Paths{folder.file("old.db"), other}, {});
  EXPECT_EQ(merged[0].appended, (Appended{2, 0, 0}));
  EXPECT_EQ(merged[1].appended, (Appended{1, 0, 0}));
  EXPECT_EQ(store->best(matmul(1), "zen4", 1).at(0).trace, "split i 6");
  EXPECT_EQ(read_file(folder.file("old.db")), old_bytes);
  EXPECT_EQ(read_file(other), other_bytes);
}

TEST(Merge, NothingIsWrittenWhenOneFileCannotBeRead) {
  const TemporaryFolder folder;
  const auto good = make(folder, "good.db", {measured(matmul(1), 1, 1)});
  testing::write_file(folder.file("bad.db"), std::string(5000, 'x'));
  const auto store = open_sqlite(folder.file("mine.db"), OpenMode::Create);
  expect_helpful(error_of([&] { merge(*store, Paths{good, folder.file("bad.db")}, {}); }), ErrorCode::Corrupt,
                 "bad.db");
  expect_helpful(error_of([&] { merge(*store, Paths{good, folder.file("none.db")}, {}); }), ErrorCode::NotFound,
                 "none.db");
  std::filesystem::create_symlink("mine.db", folder.file("link.db"));
  expect_helpful(error_of([&] { merge(*store, Paths{good, folder.file("link.db")}, {}); }), ErrorCode::InvalidArgument,
                 "link.db");
  EXPECT_TRUE(store->tasks().empty());
}

TEST(Merge, AStopEndsItBetweenBatches) {
  const TemporaryFolder folder;
  std::vector<Record> records;
  for (int i = 0; i < 2500; ++i) records.push_back(measured(matmul(1), i, 1e-3));
  const auto large = make(folder, "large.db", records);
  const auto store = open_in_memory();
  const CancellationToken stop;
  stop.request();
  EXPECT_EQ(error_of([&] { merge(*store, Paths{large}, stop); }).code(), ErrorCode::Cancelled);
  EXPECT_EQ(store->stats().records, 1000);
  EXPECT_EQ(merge(*store, Paths{large}, {}).at(0).appended, (Appended{1500, 0, 1000}));
}

}  // namespace
}  // namespace temper::store
