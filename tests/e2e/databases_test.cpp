// Bad databases through the command line: a clear message, exit code 1, and the file stays as it was.
#include <gmock/gmock.h>

#include "e2e/command.h"
#include "temper/store/sqlite_connection.h"
#include "temper/store/sqlite_store.h"
#include "temper/target/cpu.h"
#include "temper/tune/task.h"
#include "temper/tune/version.h"

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
    for (int i = 0; i < records; ++i) {
      batch.push_back(measured(store::testing::matmul(i % 3), i, 1e-3));
      batch.back().temper_version = tune::version();
    }
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
                                                            {"db", "nearest", "--op", op, "--db", name},
                                                            {"db", "stats", "--db", name},
                                                            {"db", "merge", name, "--db", "new.db"},
                                                            {"db", "prune", "--keep", "1", "--db", name},
                                                            {"db", "revalidate", "--db", name},
                                                            {"explain", "--record", "1", "--db", name}};
    for (const std::vector<std::string>& command : commands) expect_error_with(command, 1, parts);
    EXPECT_EQ(read_file(file(name)), before);
    EXPECT_FALSE(fs::exists(file("out.jsonl")));
    EXPECT_FALSE(fs::exists(file("new.db")));
  }
  /// Records as they would be of this machine and version.
  void fill_for_this_machine(const std::string& name) const {
    fill(name);
    store::Connection(file(name), store::Connection::Access::ReadWrite, std::chrono::seconds(1))
        .execute("UPDATE targets SET fingerprint = '" + target::fingerprint(target::detect()) + "'");
  }
  std::int64_t records(const std::string& name) const { return json({"db", "stats", "--db", name})["records"]; }
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
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"db", "merge", "a.db", "--db", "new.db"}, {"db", "prune", "--keep", "1"}, {"db", "revalidate"}}) {
    std::vector<std::string> with_db = command;
    if (command.back() != "new.db") with_db.insert(with_db.end(), {"--db", "a.db"});
    expect_error_with(with_db, 1, {"read-only", "hint:"});
  }
  EXPECT_EQ(json({"db", "prune", "--keep", "1", "--dry-run", "--db", "a.db"})["removed"], 17);
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
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"db", "merge", "a.db", "--db", "new.db"}, {"db", "prune", "--vacuum", "--db", "a.db"}})
    expect_error_with(command, 1, {"the disk is full", "hint: free some space"});
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

TEST_F(Databases, AMissNamesTargetAndVersion) {
  fill("a.db");
  const auto why_not = [&] {
    const nlohmann::json miss = json({"db", "why-not", "--op", "matmul(m=8,n=8,k=8)", "--db", "a.db"});
    std::vector<std::string> fields;
    for (const nlohmann::json& difference : miss["differences"]) fields.push_back(difference["field"]);
    return fields;
  };
  store::Connection connection(file("a.db"), store::Connection::Access::ReadWrite, std::chrono::seconds(1));
  const std::string key = tune::task_from_spec("matmul(m=8,n=8,k=8)", 1).key.text();
  connection.execute("DELETE FROM records WHERE task_id > 1; UPDATE tasks SET key = '" + key + "' WHERE id = 1");
  EXPECT_THAT(why_not(), ::testing::ElementsAre("target", "definition"));
  connection.execute("UPDATE targets SET fingerprint = '" + target::fingerprint(target::detect()) + "'");
  EXPECT_THAT(why_not(), ::testing::ElementsAre("definition"));
  connection.execute("UPDATE records SET temper_version = '0.0.1'");
  EXPECT_THAT(why_not(), ::testing::ElementsAre("temper version", "definition"));
}

TEST_F(Databases, NearestTasksComeWithTheirDistance) {
  fill_for_this_machine("a.db");
  const nlohmann::json near = json({"db", "nearest", "--task", "matmul(m=4,n=512,threads=1)", "--db", "a.db"});
  ASSERT_EQ(near["tasks"].size(), 3U);
  EXPECT_EQ(near["tasks"][0]["task"], "matmul(m=2,n=512,threads=1)");
  EXPECT_EQ(near["tasks"][0]["distance"], 1);
  EXPECT_EQ(near["tasks"][0]["best_seconds"], 1e-3);
  const Outcome none = temper({"db", "nearest", "--task", "relu(n=4)", "--db", "a.db"});
  EXPECT_EQ(none.code, 0) << none;
  EXPECT_THAT(none.out, ::testing::HasSubstr("no records of relu on this machine"));
  fill("other.db");
  EXPECT_EQ(json({"db", "nearest", "--op", "matmul(m=4,n=512,k=8)", "--db", "other.db"})["tasks"].size(), 0U);
  EXPECT_EQ(
      json({"db", "nearest", "--op", "matmul(m=4,n=512,k=8)", "--any-target", "--db", "other.db"})["tasks"].size(), 3U);
  expect_error_with({"db", "nearest", "--db", "a.db"}, 2, {"no task is named", "--op SPEC"});
  expect_error_with({"db", "nearest", "--task", "broken(", "--db", "a.db"}, 2, {"broken("});
}

TEST_F(Databases, StatsCountWhatIsThere) {
  fill_for_this_machine("a.db");
  const nlohmann::json stats = json({"db", "stats", "--db", "a.db"});
  EXPECT_EQ(stats["records"], 20);
  EXPECT_EQ(stats["times"], 20);
  EXPECT_EQ(stats["tasks"], 3);
  EXPECT_EQ(stats["targets"][stats["target"].get<std::string>()], 20);
  EXPECT_TRUE(stats["failures"].empty());
  const Outcome text = temper({"db", "stats", "--db", "a.db"});
  EXPECT_THAT(text.out, ::testing::HasSubstr("records   20 (0 with a trace)"));
  EXPECT_THAT(text.out, ::testing::HasSubstr("20 records of this machine; 0 records of other Temper versions"));
}

TEST_F(Databases, MergingTwiceChangesNothing) {
  fill("a.db", 12);
  fill("b.db", 20);
  const std::string before = read_file(file("b.db"));
  const nlohmann::json merged = json({"db", "merge", "b.db", "--db", "a.db"});
  EXPECT_EQ(merged["files"][0]["inserted"], 8);
  EXPECT_EQ(merged["files"][0]["kept"], 12);
  EXPECT_EQ(json({"db", "merge", "b.db", "a2.db", "--db", "a.db"}, 1)["error"]["code"], "not_found");
  EXPECT_EQ(json({"db", "merge", "b.db", "--db", "a.db"})["files"][0]["kept"], 20);
  EXPECT_EQ(records("a.db"), 20);
  EXPECT_EQ(read_file(file("b.db")), before);
  expect_error_with({"db", "merge", "a.db", "--db", "a.db"}, 2, {"cannot be merged into itself", "a.db"});
  EXPECT_EQ(json({"db", "merge", "a.db", "b.db", "--db", "new.db"})["files"][0]["inserted"], 20);
}

TEST_F(Databases, PruningKeepsTheBestAndMakesTheFileSmaller) {
  fill("a.db", 3000);
  const std::vector<std::string> prune = {"db", "prune", "--keep", "2", "--db", "a.db"};
  std::vector<std::string> dry = prune;
  dry.emplace_back("--dry-run");
  EXPECT_EQ(json(dry)["removed"], 2994);
  EXPECT_EQ(records("a.db"), 3000);
  EXPECT_EQ(json(prune)["reasons"]["slower"], 2994);
  EXPECT_EQ(records("a.db"), 6);
  const nlohmann::json vacuumed = json({"db", "prune", "--vacuum", "--db", "a.db"});
  EXPECT_LT(vacuumed["bytes"], vacuumed["bytes_before"]);
  EXPECT_EQ(fs::file_size(file("a.db")), vacuumed["bytes"].get<std::uintmax_t>());
  EXPECT_EQ(records("a.db"), 6);
  expect_error_with({"db", "prune", "--db", "a.db"}, 2, {"nothing is to be pruned"});
  expect_error_with({"db", "prune", "--keep", "0", "--db", "a.db"}, 2, {"--keep"});
  expect_error_with({"db", "prune", "--dry-run", "--vacuum", "--db", "a.db"}, 2, {"--vacuum"});
}

TEST_F(Databases, T4FilesAreWhatCompareReads) {
  fill_for_this_machine("a.db");
  store::Connection(file("a.db"), store::Connection::Access::ReadWrite, std::chrono::seconds(1))
      .execute("UPDATE records SET min_seconds = 0.001 * id");
  const std::string key = "matmul(m=1,n=512,threads=1)";
  EXPECT_EQ(json({"db", "export", "t4.json", "--format", "t4", "--task", key, "--db", "a.db"})["records"], 7);
  const nlohmann::json compared = json({"compare", "--space", "t4.json", "--strategy", "random", "--repeats", "3"});
  EXPECT_FALSE(compared.empty());
  expect_error_with({"db", "export", "t4.json", "--format", "t4", "--db", "a.db"}, 2, {"no task is named"});
  expect_error_with({"db", "export", "t4.json", "--format", "t4", "--task", "matmul(m=77)", "--db", "a.db"}, 1,
                    {"no record of matmul(m=77)", "a.db", "temper db list"});
  expect_error_with({"db", "export", "a.jsonl", "--task", key, "--db", "a.db"}, 2, {"for T4 files"});
  EXPECT_EQ(json({"db", "export", "a.jsonl", "--target", "nowhere", "--db", "a.db"})["records"], 0);
}

}  // namespace
}  // namespace temper::e2e
