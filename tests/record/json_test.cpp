#include "temper/record/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "record/generators.h"
#include "temper/support/error.h"

namespace temper::record {
namespace {

using ::testing::HasSubstr;

constexpr const char* kLine =
    R"json({"schema":1,"task":"matmul(m=512,n=512)","definition":"00000000deadbeef","target":"x86-64-v4","temper":"0.1.0",)json"
    R"json("candidate":"packed{m_tile=6}","failure":"none","reason":"","min_seconds":0.00125,"median_seconds":0.0015,)json"
    R"json("repeats":5,"number":16,"build_seconds":0.01,"run_seconds":0.125,"max_error":1e-07,"trace":null,)json"
    R"json("strategy":"annealing","seed":42,"created_unix_ms":1700000000000})json";

Record example() {
  Record r;
  r.task = {"matmul", {{"m", "512"}, {"n", "512"}}};
  r.definition_hash = 0xdeadbeef;
  r.target = "x86-64-v4";
  r.temper_version = "0.1.0";
  r.candidate = {"packed", {{"m_tile", 6}}};
  r.measurement = {FailureKind::None, "", 0.00125, 0.0015, 5, 16, 0.01, 0.125, 1e-7};
  r.strategy = "annealing";
  r.seed = 42;
  r.created_unix_ms = 1'700'000'000'000;
  return r;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Error error_of(const std::string& line) {
  try {
    from_json_line(line);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error for " << line;
  return Error(ErrorCode::Internal, "");
}

// The form is on disk: this line must stay readable and be written the same for as long as the schema is 1.
TEST(RecordJson, LineOfSchema1IsFrozen) {
  EXPECT_EQ(to_json_line(example()), kLine);
  EXPECT_EQ(to_json_line(from_json_line(kLine)), kLine);
}

RC_GTEST_PROP(RecordJson, RoundTrips, ()) {
  const Record record = *testing::record();
  const std::string line = to_json_line(record);
  RC_ASSERT(line.find('\n') == std::string::npos);
  testing::expect_same(from_json_line(line), record);
}

TEST(RecordJson, KeepsNumbersThatJsonCannotSay) {
  Record record = example();
  record.measurement.max_error = std::numeric_limits<double>::quiet_NaN();
  record.measurement.min_seconds = std::numeric_limits<double>::infinity();
  record.measurement.median_seconds = -std::numeric_limits<double>::infinity();
  const Record read = from_json_line(to_json_line(record));
  EXPECT_TRUE(std::isnan(read.measurement.max_error));
  EXPECT_EQ(read.measurement.min_seconds, record.measurement.min_seconds);
  EXPECT_EQ(read.measurement.median_seconds, record.measurement.median_seconds);
}

TEST(RecordJson, BrokenBytesInAReasonDoNotLoseTheRecord) {
  Record record = example();
  record.measurement.reason = "died: \xff\xfe";
  EXPECT_EQ(from_json_line(to_json_line(record)).measurement.reason, "died: \xEF\xBF\xBD\xEF\xBF\xBD");
  record.target = "\xff";
  EXPECT_THROW(to_json_line(record), Error);
}

TEST(RecordJson, UnknownFieldsAreIgnored) {
  EXPECT_EQ(to_json_line(from_json_line(replaced(kLine, "{", R"json({"note":[1,2],)json"))), kLine);
}

TEST(RecordJson, EveryFieldIsRequiredAndNamed) {
  for (const char* name : {"schema", "task", "definition", "target", "temper", "candidate", "failure", "reason",
                           "min_seconds", "median_seconds", "repeats", "number", "build_seconds", "run_seconds",
                           "max_error", "trace", "strategy", "seed", "created_unix_ms"}) {
    const std::string quoted = "\"" + std::string(name) + "\":";
    const Error error = error_of(replaced(kLine, quoted, "\"renamed\":"));
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument) << name;
    EXPECT_EQ(error.where(), "field '" + std::string(name) + "'");
  }
}

TEST(RecordJson, MalformedFieldsAreNamed) {
  const struct {
    const char *from, *to, *field;
  } cases[] = {
      {R"json("task":"matmul(m=512,n=512)")json", R"json("task":"matmul(m=512")json", "task"},
      {R"json("task":"matmul(m=512,n=512)")json", R"json("task":7)json", "task"},
      {"00000000deadbeef", "xyz", "definition"},
      {"packed{m_tile=6}", "packed{m_tile=six}", "candidate"},
      {R"json("failure":"none")json", R"json("failure":"melted")json", "failure"},
      {"0.00125", "true", "min_seconds"},
      {R"json("repeats":5)json", R"json("repeats":5.5)json", "repeats"},
      {R"json("repeats":5)json", R"json("repeats":99999999999)json", "repeats"},
      {R"json("seed":42)json", R"json("seed":-1)json", "seed"},
      {R"json("trace":null)json", R"json("trace":1)json", "trace"},
      {R"json("schema":1)json", R"json("schema":0)json", "schema"},
  };
  for (const auto& broken : cases) {
    const Error error = error_of(replaced(kLine, broken.from, broken.to));
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument) << broken.to;
    EXPECT_EQ(error.where(), "field '" + std::string(broken.field) + "'") << broken.to;
  }
  for (const char* line : {"", "{", "[1]", "null", "{\"schema\":1"}) EXPECT_THROW(from_json_line(line), Error) << line;
}

TEST(RecordJson, NewerSchemaIsAVersionError) {
  const Error error = error_of(replaced(kLine, R"json("schema":1)json", R"json("schema":2)json"));
  EXPECT_EQ(error.code(), ErrorCode::Version);
  EXPECT_THAT(error.what(), HasSubstr("schema 2, newer than this Temper's 1"));
}

}  // namespace
}  // namespace temper::record
