#include "temper/store/t4_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "store/fixtures.h"
#include "temper/store/sqlite_store.h"

namespace temper::store {
namespace {

using record::FailureKind;
using testing::error_of;
using testing::expect_helpful;
using testing::failed;
using ::testing::HasSubstr;
using testing::matmul;
using testing::measured;
using testing::read_file;
using testing::TemporaryFolder;

TEST(T4Export, AnEntryHoldsWhatTheFormatAsksFor) {
  const TemporaryFolder folder;
  const auto store = open_in_memory();
  Record r = measured(matmul(1), 4, 2e-3);
  r.measurement.build_seconds = 0.25;
  r.measurement.run_seconds = 0.5;
  Record crashed = failed(matmul(1), 5, FailureKind::Crash, "SIGSEGV");
  crashed.candidate = {"tiled", {{"rows", 3}}};
  store->append(std::vector{r, crashed, measured(matmul(2), 1, 1), measured(matmul(1), 1, 1, "other")});
  EXPECT_EQ(export_t4(*store, matmul(1), "zen4", folder.file("a.json")), 2);
  const std::string expected =
      R"json({"metadata": {"timeunit":"milliseconds","task":"matmul(m=1,n=512,threads=1)","target":"zen4"},)json"
      "\n"
      R"json("schema_version": "1.0.0",)json"
      "\n"
      R"json("results": [)json"
      "\n"
      R"json({"timestamp":"2023-11-14 22:13:20.004+00:00",)json"
      R"json("configuration":{"design":"packed","tile":4,"rows":-1},)json"
      R"json("times":{"compilation":250.0,"framework":0,"search_algorithm":0,"validation":495.0,)json"
      R"json("runtimes":[2.0,3.0]},"invalidity":"correct","correctness":1,)json"
      R"json("measurements":[{"name":"time","value":2.0,"unit":"milliseconds"},)json"
      R"json({"name":"median_time","value":3.0,"unit":"milliseconds"}],"objectives":["time"]},)json"
      "\n"
      R"json({"timestamp":"2023-11-14 22:13:20.005+00:00",)json"
      R"json("configuration":{"design":"tiled","tile":-1,"rows":3},)json"
      R"json("times":{"compilation":0.0,"framework":0,"search_algorithm":0,"validation":0.0},)json"
      R"json("invalidity":"runtime","correctness":0,)json"
      R"json("measurements":[{"name":"time","value":"crash","unit":"milliseconds"},)json"
      R"json({"name":"median_time","value":"crash","unit":"milliseconds"}],"objectives":["time"]})json"
      "\n]}\n";
  EXPECT_EQ(read_file(folder.file("a.json")), expected);
}

TEST(T4Export, WhatCannotBeWrittenIsAnErrorAndNoFile) {
  const TemporaryFolder folder;
  const auto store = open_sqlite(folder.file("a.db"), OpenMode::Create);
  Record r = measured(matmul(1), 1, 1e-3);
  r.candidate.knobs.emplace_back("design", 1);
  store->append(std::vector{r});
  const auto path = folder.file("a.json");
  expect_helpful(error_of([&] { export_t4(*store, matmul(2), "zen4", path); }), ErrorCode::NotFound, "a.db");
  expect_helpful(error_of([&] { export_t4(*store, matmul(1), "other", path); }), ErrorCode::NotFound, "a.db");
  expect_helpful(error_of([&] { export_t4(*store, matmul(1), "zen4", path); }), ErrorCode::InvalidArgument, "packed");
  expect_helpful(error_of([&] { export_t4(*store, matmul(1), "zen4", folder.file("a.db")); }),
                 ErrorCode::InvalidArgument, "a.db");
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace temper::store
