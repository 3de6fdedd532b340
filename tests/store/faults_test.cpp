// Everything that can be wrong with the file: the error says what, where and how to mend it, and the file stays as it
// was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "store/fixtures.h"
#include "temper/store/sqlite_connection.h"
#include "temper/store/sqlite_store.h"

namespace temper::store {
namespace {

using testing::error_of;
using testing::expect_helpful;
using ::testing::HasSubstr;
using testing::matmul;
using testing::measured;
using testing::read_file;
using testing::SmallDisk;
using testing::TemporaryFolder;
using testing::write_file;

constexpr OpenMode kModes[] = {OpenMode::Create, OpenMode::ReadWrite, OpenMode::ReadOnly};

void fill(Store& store, int records) {
  std::vector<Record> batch;
  for (int i = 0; i < records; ++i) {
    batch.push_back(measured(matmul(i % 7), i, 1e-3 + i * 1e-6));
    batch.back().trace = std::string(200, 't');
  }
  store.append(batch);
}

TEST(StoreFaults, AFileThatIsNoDatabase) {
  const TemporaryFolder folder;
  const auto path = folder.file("notes.txt");
  write_file(path, std::string(5000, 'n'));
  for (const OpenMode mode : kModes) {
    expect_helpful(error_of([&] { open_sqlite(path, mode); }), ErrorCode::Corrupt, "notes.txt");
  }
  EXPECT_EQ(read_file(path), std::string(5000, 'n'));
  write_file(path, "short");
  for (const OpenMode mode : kModes) {
    expect_helpful(error_of([&] { open_sqlite(path, mode); }), ErrorCode::Corrupt, "notes.txt");
  }
  EXPECT_EQ(read_file(path), "short");
}

TEST(StoreFaults, ADatabaseOfAnotherProgram) {
  const TemporaryFolder folder;
  const auto path = folder.file("browser.db");
  Connection(path, Connection::Access::Create, std::chrono::seconds(1)).execute("CREATE TABLE bookmarks(url)");
  const std::string before = read_file(path);
  for (const OpenMode mode : kModes) {
    expect_helpful(error_of([&] { open_sqlite(path, mode); }), ErrorCode::Corrupt, "browser.db");
  }
  EXPECT_EQ(read_file(path), before);
}

TEST(StoreFaults, DamageInTheMiddleOfTheFile) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.db");
  fill(*open_sqlite(path, OpenMode::Create), 500);
  std::string bytes = read_file(path);
  ASSERT_GT(bytes.size(), 40'000u);
  std::fill(bytes.begin() + 8192, bytes.begin() + 24576, '\x5a');
  write_file(path, bytes);
  for (const OpenMode mode : kModes) {
    expect_helpful(error_of([&] { open_sqlite(path, mode); }), ErrorCode::Corrupt, "a.db");
  }
  EXPECT_EQ(read_file(path), bytes);
}

TEST(StoreFaults, ATruncatedFile) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.db");
  fill(*open_sqlite(path, OpenMode::Create), 500);
  const std::string whole = read_file(path);
  for (const std::size_t size :
       {std::size_t{50}, std::size_t{1000}, std::size_t{4096}, whole.size() / 2, whole.size() - 4096}) {
    write_file(path, whole.substr(0, size));
    for (const OpenMode mode : kModes) {
      expect_helpful(error_of([&] { open_sqlite(path, mode); }), ErrorCode::Corrupt, "a.db");
    }
    EXPECT_EQ(read_file(path), whole.substr(0, size)) << size;
  }
}

TEST(StoreFaults, AnUnreadableKeyIsDamage) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.db");
  fill(*open_sqlite(path, OpenMode::Create), 1);
  Connection(path, Connection::Access::ReadWrite, std::chrono::seconds(1))
      .execute("UPDATE records SET candidate = 'broken{'");
  const auto store = open_sqlite(path, OpenMode::ReadWrite);
  expect_helpful(error_of([&] { store->best(matmul(0), "zen4", 1); }), ErrorCode::Corrupt, "a.db");
}

TEST(StoreFaults, MissingFilesAndFolders) {
  const TemporaryFolder folder;
  for (const OpenMode mode : {OpenMode::ReadWrite, OpenMode::ReadOnly}) {
    expect_helpful(error_of([&] { open_sqlite(folder.file("none.db"), mode); }), ErrorCode::NotFound, "none.db");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.db")));
  for (const OpenMode mode : kModes) {
    expect_helpful(error_of([&] { open_sqlite(folder.file("no/a.db"), mode); }), ErrorCode::NotFound, "no/a.db");
    expect_helpful(error_of([&] { open_sqlite(folder.path(), mode); }), ErrorCode::Io, folder.path().string());
  }
}

TEST(StoreFaults, AnEmptyFileIsANewDatabase) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.db");
  write_file(path, "");
  expect_helpful(error_of([&] { open_sqlite(path, OpenMode::ReadOnly); }), ErrorCode::NotFound, "a.db");
  fill(*open_sqlite(path, OpenMode::ReadWrite), 3);
  EXPECT_EQ(open_sqlite(path, OpenMode::ReadOnly)->tasks().size(), 3u);
}

TEST(StoreFaults, NamesThatMeanSomethingToSqliteAreFiles) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (const char* name : {":memory:", "file:x.db?mode=memory", "a b%#?.db"}) {
    fill(*open_sqlite(name, OpenMode::Create), 1);
    EXPECT_TRUE(std::filesystem::is_regular_file(folder.file(name))) << name;
    EXPECT_EQ(open_sqlite(name, OpenMode::ReadOnly)->tasks().size(), 1u) << name;
  }
  std::filesystem::current_path(before);
}

TEST(StoreFaults, AReadOnlyStoreRefusesToAppend) {
  const TemporaryFolder folder;
  fill(*open_sqlite(folder.file("a.db"), OpenMode::Create), 3);
  const auto store = open_sqlite(folder.file("a.db"), OpenMode::ReadOnly);
  expect_helpful(error_of([&] { store->append(std::vector{measured(matmul(1), 9, 1)}); }), ErrorCode::Io, "a.db");
  EXPECT_EQ(store->tasks().size(), 3u);
}

TEST(StoreFaults, AReadOnlyMount) {
  const TemporaryFolder folder;
  SmallDisk disk(folder.path(), "8m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  const auto path = folder.file("a ?%.db");  // the name is part of a URI in this case
  fill(*open_sqlite(path, OpenMode::Create), 20);
  ASSERT_TRUE(disk.make_read_only());
  for (const OpenMode mode : {OpenMode::Create, OpenMode::ReadWrite}) {
    const Error error = error_of([&] { open_sqlite(path, mode); });
    expect_helpful(error, ErrorCode::Io, "a ?%.db");
    EXPECT_THAT(error.message(), HasSubstr("read-only"));
  }
  const Error creating = error_of([&] { open_sqlite(folder.file("new.db"), OpenMode::Create); });
  expect_helpful(creating, ErrorCode::Io, "new.db");
  EXPECT_THAT(creating.message(), HasSubstr("read-only"));
  const auto store = open_sqlite(path, OpenMode::ReadOnly);
  EXPECT_EQ(store->tasks().size(), 7u);
  EXPECT_EQ(store->best(matmul(1), "zen4", 1).size(), 1u);
}

TEST(StoreFaults, AReadOnlyMountWithAnUnmergedLogIsNotReadHalf) {
  const TemporaryFolder folder;
  SmallDisk disk(folder.path(), "8m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  const auto path = folder.file("a.db");
  {
    const auto store = open_sqlite(path, OpenMode::Create);
    fill(*store, 20);
    // What a killed process leaves: the file and its log, not merged.
    std::filesystem::copy(path, folder.file("b.db"));
    std::filesystem::copy(path.string() + "-wal", folder.file("b.db-wal"));
  }
  ASSERT_TRUE(disk.make_read_only());
  const Error error = error_of([&] { open_sqlite(folder.file("b.db"), OpenMode::ReadOnly); });
  expect_helpful(error, ErrorCode::Io, "b.db");
}

TEST(StoreFaults, AFullDiskLosesOnlyTheBatchInFlight) {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path(), "1m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  const auto path = folder.file("a.db");
  int stored = 0;
  {
    const auto store = open_sqlite(path, OpenMode::Create);
    fill(*store, 10);
    stored = 10;
    const auto append_until_full = [&] {
      while (stored < 100'000) {
        std::vector<Record> batch;
        for (int i = 0; i < 100; ++i) batch.push_back(measured(matmul(1), 1000 + stored + i, 1));
        store->append(batch);
        stored += 100;
      }
    };
    const Error error = error_of(append_until_full);
    expect_helpful(error, ErrorCode::Io, "a.db");
    EXPECT_THAT(error.message(), HasSubstr("disk is full"));
    // Reading goes on, and so does writing once there is room.
    std::int64_t records = 0;
    for (const TaskSummary& task : store->tasks()) records += task.records;
    EXPECT_EQ(records, stored);
  }
  const auto store = open_sqlite(path, OpenMode::ReadWrite);
  std::int64_t records = 0;
  for (const TaskSummary& task : store->tasks()) records += task.records;
  EXPECT_EQ(records, stored);
}

TEST(StoreFaults, AFullDiskFromTheStart) {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path(), "1m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  fill(*open_sqlite(folder.file("old.db"), OpenMode::Create), 10);
  SmallDisk::fill(folder.file("ballast"));
  const Error creating = error_of([&] { open_sqlite(folder.file("new.db"), OpenMode::Create); });
  expect_helpful(creating, ErrorCode::Io, "new.db");
  EXPECT_THAT(creating.message(), HasSubstr("disk is full"));
  const Error opening = error_of([&] {
    const auto store = open_sqlite(folder.file("old.db"), OpenMode::ReadWrite);
    fill(*store, 1000);
  });
  expect_helpful(opening, ErrorCode::Io, "old.db");
  EXPECT_THAT(opening.message(), HasSubstr("disk is full"));
  std::filesystem::remove(folder.file("ballast"));
  EXPECT_EQ(open_sqlite(folder.file("old.db"), OpenMode::ReadWrite)->tasks().size(), 7u);
  fill(*open_sqlite(folder.file("new.db"), OpenMode::Create), 10);
}

TEST(StoreFaults, ALockThatIsNotGivenBack) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.db");
  SqliteOptions impatient;
  impatient.busy_timeout = std::chrono::milliseconds(20);
  const auto store = open_sqlite(path, OpenMode::Create, impatient);
  fill(*store, 10);
  const Connection other(path, Connection::Access::ReadWrite, impatient.busy_timeout);
  {
    Transaction held(other, Transaction::Kind::Write);
    expect_helpful(error_of([&] { store->append(std::vector{measured(matmul(1), 99, 1)}); }), ErrorCode::Busy, "a.db");
    EXPECT_EQ(store->tasks().size(), 7u) << "readers do not wait for the writer";
  }
  EXPECT_EQ(store->append(std::vector{measured(matmul(1), 99, 1)}), (Appended{1, 0, 0}));
}

}  // namespace
}  // namespace temper::store
