#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "paths.h"
#include "store/fixtures.h"
#include "temper/store/sqlite_connection.h"
#include "temper/store/sqlite_schema.h"
#include "temper/store/sqlite_store.h"

namespace temper::store {
namespace {

using testing::error_of;
using testing::expect_helpful;
using ::testing::HasSubstr;
using testing::matmul;
using testing::measured;
using testing::read_file;
using testing::TemporaryFolder;

constexpr std::chrono::milliseconds kTimeout{1000};

Connection connect(const std::filesystem::path& path) { return {path, Connection::Access::Create, kTimeout}; }

void make_version1(const std::filesystem::path& path) {
  connect(path).execute(read_file(paths::source() + "/tests/store/version1.sql"));
}

TEST(Migration, AFileOfVersion1IsReadAndExtended) {
  const TemporaryFolder folder;
  make_version1(folder.file("old.db"));
  const auto store = open_sqlite(folder.file("old.db"), OpenMode::ReadWrite);
  const std::vector<Record> all = store->all(matmul(1), "zen4");
  ASSERT_EQ(all.size(), 2u);
  const Record best = store->best(matmul(1), "zen4", 1).at(0);
  EXPECT_EQ(best.id, 5);
  EXPECT_EQ(best.candidate.text(), "packed{tile=6}");
  EXPECT_EQ(best.definition_hash, 0xfffffffffffffffe);
  EXPECT_EQ(best.measurement.median_seconds, 0.0015);
  EXPECT_EQ(best.seed, ~std::uint64_t{0});
  EXPECT_EQ(best.trace, "split i 6");
  EXPECT_EQ(all[1].measurement.failure, record::FailureKind::WrongResult);
  EXPECT_TRUE(std::isnan(all[1].measurement.max_error));
  store->append(std::vector{measured(matmul(1), 8, 1e-6)});
  EXPECT_EQ(store->best(matmul(1), "zen4", 1).at(0).id, 7);
}

TEST(Migration, StepsAreNumberedFromOneWithoutGaps) {
  int expected = 1;
  for (const Migration& step : migrations()) EXPECT_EQ(step.to, expected++) << step.what;
}

// The mechanism, with made-up steps: each runs once, in order, also on a file that stands in the middle.
TEST(Migration, RunsOnlyTheStepsThatAreMissing) {
  const TemporaryFolder folder;
  make_version1(folder.file("old.db"));
  const std::array steps = {
      migrations()[0],
      Migration{2, "a note for each task", "ALTER TABLE tasks ADD COLUMN note TEXT NOT NULL DEFAULT 'from 1'"},
      Migration{3, "notes are upper-case", "UPDATE tasks SET note = upper(note)"},
  };
  const Connection connection = connect(folder.file("old.db"));
  migrate(connection, steps);
  EXPECT_EQ(check_schema(connection, steps), 3);
  EXPECT_EQ(connection.text("SELECT note FROM tasks"), "FROM 1");
  connection.execute("UPDATE tasks SET note = 'mixed Case'");
  migrate(connection, steps);
  EXPECT_EQ(connection.text("SELECT note FROM tasks"), "mixed Case") << "a step must not run again";
  EXPECT_EQ(connection.text("SELECT value FROM meta WHERE name = 'schema'"), "3");
}

TEST(Migration, AStepThatFailsChangesNothing) {
  const TemporaryFolder folder;
  make_version1(folder.file("old.db"));
  const std::array steps = {
      migrations()[0],
      Migration{2, "half good", "CREATE TABLE half(x); INSERT INTO nowhere VALUES(1)"},
  };
  const Connection connection = connect(folder.file("old.db"));
  EXPECT_THROW(migrate(connection, steps), Error);
  EXPECT_EQ(connection.integer("PRAGMA user_version"), 1);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'half'"), 0);
}

TEST(Migration, ANewFileHasTheNewestVersion) {
  const TemporaryFolder folder;
  open_sqlite(folder.file("new.db"), OpenMode::Create);
  EXPECT_EQ(check_schema(connect(folder.file("new.db")), migrations()), migrations().back().to);
}

TEST(Migration, ANewerFileIsRefusedAndLeftAsItIs) {
  const TemporaryFolder folder;
  const auto path = folder.file("newer.db");
  make_version1(path);
  connect(path).execute("PRAGMA user_version = 99; PRAGMA journal_mode = DELETE");
  const std::string before = read_file(path);
  for (const OpenMode mode : {OpenMode::Create, OpenMode::ReadWrite, OpenMode::ReadOnly}) {
    const Error error = error_of([&] { open_sqlite(path, mode); });
    expect_helpful(error, ErrorCode::Version, "newer.db");
    EXPECT_THAT(error.message(), HasSubstr("version 99"));
  }
  EXPECT_EQ(read_file(path), before);
}

// What a step only makes faster is no reason to refuse a file that nobody may write.
TEST(Migration, AnOlderFileIsReadWithoutBeingChanged) {
  const TemporaryFolder folder;
  const auto path = folder.file("old.db");
  make_version1(path);
  const std::string before = read_file(path);
  {
    const auto store = open_sqlite(path, OpenMode::ReadOnly);
    EXPECT_EQ(store->best(matmul(1), "zen4", 1).at(0).id, 5);
    EXPECT_TRUE(store->defaults(matmul(1), "zen4").empty());
    EXPECT_EQ(store->nearest_tasks(matmul(1), 1, "").size(), 1u);
    EXPECT_EQ(store->stats().format, 1);
  }
  EXPECT_EQ(read_file(path), before);
  open_sqlite(path, OpenMode::ReadWrite);
  EXPECT_EQ(open_sqlite(path, OpenMode::ReadOnly)->stats().format, 2);
}

TEST(Migration, TheOldestReadableVersionIsThatOfTheLastStepThatChangesReading) {
  const Migration first{1, "", ""}, second{2, "", "", false}, third{3, "", ""}, fourth{4, "", "", false};
  EXPECT_EQ(oldest_readable(std::array{first, second}), 1);
  EXPECT_EQ(oldest_readable(std::array{first, second, third, fourth}), 3);
}

TEST(Migration, FilesOfEveryVersionAreReadAndExtended) {
  for (const Migration& step : migrations()) {
    const TemporaryFolder folder;
    const std::string name = "version" + std::to_string(step.to) + ".sql";
    connect(folder.file("old.db")).execute(read_file(paths::source() + "/tests/store/" + name));
    ASSERT_EQ(check_schema(connect(folder.file("old.db")), migrations()), step.to) << name;
    const auto store = open_sqlite(folder.file("old.db"), OpenMode::ReadWrite);
    EXPECT_EQ(store->best(matmul(1), "zen4", 9).at(0).candidate.text(), "packed{tile=6}") << name;
    EXPECT_EQ(store->all(matmul(1), "zen4").size(), 2u) << name;
    EXPECT_EQ(store->append(std::vector{measured(matmul(1), 8, 1e-6)}), (Appended{1, 0, 0})) << name;
    EXPECT_EQ(store->stats().format, migrations().back().to);
  }
}

}  // namespace
}  // namespace temper::store
