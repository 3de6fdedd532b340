#include "temper/store/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "store/fixtures.h"
#include "temper/record/json.h"
#include "temper/store/sqlite_store.h"

namespace temper::store {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::expect_helpful;
using testing::failed;
using ::testing::HasSubstr;
using testing::matmul;
using testing::measured;
using testing::read_file;
using testing::SmallDisk;
using testing::TemporaryFolder;
using testing::write_file;

std::vector<std::string> lines_of(const Store& store) {
  std::vector<std::string> lines;
  store.for_each([&](const Record& r) { lines.push_back(record::to_json_line(r)); });
  return lines;
}

std::unique_ptr<Store> example() {
  auto store = open_in_memory();
  Record best = measured(matmul(1), 1, 1e-3);
  best.trace = "split i 4\nvectorize i1";
  store->append(std::vector{best, failed(matmul(1), 2, record::FailureKind::Crash, "SIGSEGV"),
                            measured({"softmax", {{"rows", "8"}}}, 3, 1e-5, "skylake")});
  return store;
}

TEST(JsonLines, ExportAndImportGiveTheSameRecords) {
  const TemporaryFolder folder;
  const auto store = example();
  EXPECT_EQ(export_json_lines(*store, folder.file("a.jsonl")), 3);
  const auto copy = open_in_memory();
  const Imported imported = import_json_lines(*copy, folder.file("a.jsonl"));
  EXPECT_EQ(imported.appended, (Appended{3, 0, 0}));
  EXPECT_TRUE(imported.bad_lines.empty());
  EXPECT_EQ(lines_of(*copy), lines_of(*store));
  EXPECT_EQ(import_json_lines(*copy, folder.file("a.jsonl")).appended, (Appended{0, 0, 3}));
}

TEST(JsonLines, ExportCanBeNarrowed) {
  const TemporaryFolder folder;
  const auto store = example();
  EXPECT_EQ(export_json_lines(*store, folder.file("a.jsonl"), {"skylake", ""}), 1);
  EXPECT_EQ(export_json_lines(*store, folder.file("a.jsonl"), {"", "matmul"}), 2);
  EXPECT_EQ(export_json_lines(*store, folder.file("a.jsonl"), {"skylake", "matmul"}), 0);
  EXPECT_EQ(read_file(folder.file("a.jsonl")), "");
}

TEST(JsonLines, CorruptLinesAreReportedByNumberAndTheRestIsImported) {
  const TemporaryFolder folder;
  const std::vector<std::string> lines = lines_of(*example());
  std::string without_time = lines[2];
  without_time.replace(without_time.find("1e-05"), 5, "0.0");
  write_file(folder.file("a.jsonl"), lines[0] + "\r\n\n{\"schema\":1,\n" + lines[1] + "\nnonsense\n" + without_time);
  const auto store = open_in_memory();
  const Imported imported = import_json_lines(*store, folder.file("a.jsonl"));
  EXPECT_EQ(imported.appended, (Appended{2, 0, 0}));
  ASSERT_EQ(imported.bad_lines.size(), 3u);
  EXPECT_EQ(imported.bad_lines[0].line, 3);
  EXPECT_THAT(imported.bad_lines[0].message, HasSubstr("not valid JSON"));
  EXPECT_EQ(imported.bad_lines[1].line, 5);
  EXPECT_EQ(imported.bad_lines[2].line, 6);
  EXPECT_THAT(imported.bad_lines[2].message, HasSubstr("no positive time"));
  EXPECT_THAT(lines_of(*store), ElementsAre(lines[0], lines[1]));
}

TEST(JsonLines, ANewerSchemaIsRefusedWhole) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 1500; ++i) text += record::to_json_line(measured(matmul(1), i, 1e-3)) + "\n";
  std::string newer = record::to_json_line(measured(matmul(1), -1, 1e-3));
  newer.replace(newer.find("\"schema\":1"), 10, "\"schema\":9");
  write_file(folder.file("a.jsonl"), text + newer + "\n");
  const auto store = open_in_memory();
  const Error error = error_of([&] { import_json_lines(*store, folder.file("a.jsonl")); });
  expect_helpful(error, ErrorCode::Version, "a.jsonl, line 1501");
  EXPECT_THAT(error.message(), HasSubstr("nothing was imported"));
  EXPECT_TRUE(store->tasks().empty());
}

TEST(JsonLines, AStoredRecordStaysWhenAnotherVersionIsImported) {
  const TemporaryFolder folder;
  Record other = measured(matmul(1), 1, 1e-9);
  other.temper_version = "0.0.1";
  write_file(folder.file("a.jsonl"), record::to_json_line(other));
  const auto store = open_in_memory();
  store->append(std::vector{measured(matmul(1), 1, 1e-3)});
  EXPECT_EQ(import_json_lines(*store, folder.file("a.jsonl")).appended, (Appended{0, 0, 1}));
  EXPECT_EQ(store->best(matmul(1), "zen4", 1).at(0).measurement.min_seconds, 1e-3);
}

TEST(JsonLines, MissingAndUnreadableFilesAreErrors) {
  const TemporaryFolder folder;
  const auto store = open_in_memory();
  expect_helpful(error_of([&] { import_json_lines(*store, folder.file("none")); }), ErrorCode::NotFound, "none");
  expect_helpful(error_of([&] { import_json_lines(*store, folder.path()); }), ErrorCode::Io, folder.path().string());
  expect_helpful(error_of([&] { export_json_lines(*store, folder.file("no/a.jsonl")); }), ErrorCode::NotFound,
                 "a.jsonl");
}

TEST(JsonLines, AFullDiskLeavesTheOldExport) {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path(), "256k");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  const auto store = open_in_memory();
  for (int i = 0; i < 2000; ++i) store->append(std::vector{measured(matmul(i), i, 1e-3)});
  write_file(folder.file("a.jsonl"), "the old export\n");
  const Error error = error_of([&] { export_json_lines(*store, folder.file("a.jsonl")); });
  expect_helpful(error, ErrorCode::Io, "a.jsonl");
  EXPECT_THAT(error.message(), HasSubstr("No space left"));
  EXPECT_EQ(read_file(folder.file("a.jsonl")), "the old export\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "the half-written file must go";
}

}  // namespace
}  // namespace temper::store
