// Bad databases through the command line: a clear message, exit code 1, and the file stays as it was.
#include <gmock/gmock.h>

#include "e2e/command.h"
#include "temper/store/sqlite_connection.h"
#include "temper/store/sqlite_store.h"

namespace temper::e2e {
namespace {

using store::testing::measured;
using store::testing::read_file;
using store::testing::SmallDisk;
using store::testing::write_file;

class Databases : public Programs {
 protected:
  void fill(const std::string& name, int records = 20) const {
    const auto store = store::open_sqlite(file(name), store::OpenMode::Create);
    std::vector<record::Record> batch;
    for (int i = 0; i < records; ++i) batch.push_back(measured(store::testing::matmul(i % 3), i, 1e-3));
    store->append(batch);
  }
  /// Every command that opens a database says the same and leaves it alone.
  void refused(const std::string& name, const std::vector<std::string>& parts) const {
    const std::string before = read_file(file(name));
    const std::string op = "matmul(m=16,n=16,k=16)";
    const std::vector<std::vector<std::string>> commands = {{"tune", "--op", op, "--trials", "2", "--db", name},
                                                            {"explain", "--op", op, "--db", name},
                                                            {"bench", "--op", op, "--db", name},
                                                            {"db", "list", "--db", name},
                                                            {"db", "best", "--op", op, "--db", name},
                                                            {"db", "why-not", "--op", op, "--db", name},
                                                            {"db", "export", "out.jsonl", "--db", name},
                                                            {"explain", "--record", "1", "--db", name}};
    for (const std::vector<std::string>& command : commands) expect_error_with(command, 1, parts);
    EXPECT_EQ(read_file(file(name)), before);
    EXPECT_FALSE(fs::exists(file("out.jsonl")));
  }
};

TEST_F(Databases, Corrupt) {
  fill("a.db", 500);
  std::string bytes = read_file(file("a.db"));
  ASSERT_GT(bytes.size(), 40000U);
  std::fill(bytes.begin() + 8192, bytes.begin() + 24576, '\x5a');
  write_file(file("a.db"), bytes);
  refused("a.db", {"the database is damaged", "a.db", "hint: restore a copy"});
}

TEST_F(Databases, NoDatabase) {
  write_file(file("notes.db"), std::string(3000, 'n'));
  refused("notes.db", {"the file is not a Temper database", "notes.db", "hint: give another file with --db"});
}

TEST_F(Databases, FromANewerVersion) {
  fill("a.db");
  store::Connection(file("a.db"), store::Connection::Access::ReadWrite, std::chrono::seconds(1))
      .execute("PRAGMA user_version = 999");
  refused("a.db", {"version 999", "at: a.db", "hint: use the Temper that wrote it, or a newer one"});
}

TEST_F(Databases, Missing) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"db", "list"}, {"db", "export", "out.jsonl"}, {"explain", "--record", "1"}})
    expect_error_with(command, 1, {"temper.db", "hint:"});
  EXPECT_FALSE(fs::exists(file("temper.db")));
  expect_error_with({"tune", "--op", "matmul(m=8,n=8,k=8)", "--db", "no/such/folder/a.db"}, 1, {"no/such/folder/a.db"});
}

TEST_F(Databases, OnAReadOnlyMount) {
  SmallDisk disk(folder(), "8m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  fill("a.db");
  ASSERT_TRUE(disk.make_read_only());
  expect_error_with({"tune", "--op", "matmul(m=8,n=8,k=8)", "--db", "a.db"}, 1, {"read-only", "a.db", "hint:"});
  expect_error_with({"tune", "--op", "matmul(m=8,n=8,k=8)", "--db", "new.db"}, 1, {"read-only", "new.db", "hint:"});
  const Outcome list = temper({"db", "list", "--db", "a.db"});
  EXPECT_EQ(list.code, 0) << list;
  EXPECT_THAT(list.out, ::testing::HasSubstr("matmul"));
}

TEST_F(Databases, OnAFullDisk) {
  SmallDisk disk(folder(), "1m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  fill("a.db");
  const auto records = [&] {
    std::int64_t count = 0;
    for (const auto& task : json({"db", "list", "--db", "a.db"})["tasks"]) count += task["records"].get<std::int64_t>();
    return count;
  };
  const std::int64_t before = records();
  SmallDisk::fill(file("ballast"));
  expect_error_with({"tune", "--op", "matmul(m=8,n=8,k=8)", "--trials", "4", "--db", "new.db"}, 1,
                    {"the disk is full", "new.db", "hint: free some space"});
  expect_error_with({"db", "export", "out.jsonl", "--db", "a.db"}, 1, {"out.jsonl", "hint:"});
  EXPECT_FALSE(fs::exists(file("out.jsonl")));
  EXPECT_EQ(records(), before);
  fs::remove(file("ballast"));
  EXPECT_EQ(records(), before);
  EXPECT_EQ(temper({"db", "export", "out.jsonl", "--db", "a.db"}).code, 0);
}

TEST_F(Databases, ExportAndImportKeepEveryRecord) {
  fill("a.db");
  const nlohmann::json exported = json({"db", "export", "a.jsonl", "--db", "a.db"});
  EXPECT_EQ(exported["records"], 20);
  const nlohmann::json imported = json({"db", "import", "a.jsonl", "--db", "b.db"});
  EXPECT_EQ(imported["inserted"], 20);
  EXPECT_EQ(json({"db", "import", "a.jsonl", "--db", "b.db"})["kept"], 20);
  EXPECT_EQ(json({"db", "export", "b.jsonl", "--db", "b.db"})["records"], 20);
  EXPECT_EQ(read_file(file("a.jsonl")), read_file(file("b.jsonl")));
  EXPECT_EQ(json({"db", "list", "--db", "b.db"})["tasks"].size(), 3U);
}

TEST_F(Databases, AnExportNeverReplacesTheDatabase) {
  fill("a.db");
  fs::create_symlink("a.db", file("link"));
  const std::string before = read_file(file("a.db"));
  for (const char* output : {"a.db", "./a.db", "link"})
    expect_error_with({"db", "export", output, "--db", "a.db"}, 2, {"would overwrite the input", output, "hint:"});
  EXPECT_EQ(read_file(file("a.db")), before);
  const Outcome piped = temper({"db", "export", "/dev/stdout", "--db", "a.db", "--json"});
  EXPECT_EQ(piped.code, 0) << piped;
}

TEST_F(Databases, AnImportThatCannotBeReadMakesNoDatabase) {
  expect_error_with({"db", "import", "none.jsonl", "--db", "b.db"}, 1, {"none.jsonl", "hint:"});
  std::string binary;
  for (int i = 0; i < 4096; ++i) binary += static_cast<char>(i * 37 % 251);
  write_file(file("a.bin"), binary);
  expect_error_with({"db", "import", "a.bin", "--db", "b.db"}, 2, {"holds no record", "a.bin", "hint:"});
  EXPECT_FALSE(fs::exists(file("b.db")));
}

TEST_F(Databases, AnImportNamesTheFirstBadLines) {
  fill("a.db");
  temper({"db", "export", "a.jsonl", "--db", "a.db"});
  std::string lines = read_file(file("a.jsonl"));
  for (int i = 0; i < 30; ++i) lines += "nonsense\n";
  write_file(file("a.jsonl"), lines);
  const Outcome outcome = temper({"db", "import", "a.jsonl", "--db", "b.db"});
  EXPECT_EQ(outcome.code, 1) << outcome;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("line 21 skipped"));
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("... and 25 more"));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 6);
}

TEST_F(Databases, OfAnotherProgram) {
  store::Connection(file("other.db"), store::Connection::Access::Create, std::chrono::seconds(1))
      .execute("CREATE TABLE bookmarks(url TEXT)");
  refused("other.db", {"the file is a database of another program", "other.db", "hint: give another file"});
}

TEST_F(Databases, LinesThatCannotBeReadAreReportedAndTheRestIsKept) {
  fill("a.db");
  temper({"db", "export", "a.jsonl", "--db", "a.db"});
  write_file(file("a.jsonl"), "{\"schema\":\n" + read_file(file("a.jsonl")));
  const nlohmann::json imported = json({"db", "import", "a.jsonl", "--db", "b.db"}, 1);
  EXPECT_EQ(imported["inserted"], 20);
  ASSERT_EQ(imported["bad_lines"].size(), 1U);
  EXPECT_EQ(imported["bad_lines"][0]["line"], 1);
}

TEST_F(Databases, AMissSaysWhichPartDiffers) {
  fill("a.db");
  const nlohmann::json miss = json({"db", "why-not", "--op", "matmul(m=1,n=512,k=64)", "--db", "a.db"});
  EXPECT_EQ(miss["hit"], false);
  EXPECT_FALSE(miss["differences"].empty());
  expect_error_with({"db", "best", "--op", "matmul(m=1,n=512,k=64)", "--db", "a.db"}, 1,
                    {"no record of matmul(", "a.db", "why-not"});
}

}  // namespace
}  // namespace temper::e2e
