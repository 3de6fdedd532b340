#include "temper/app/options.h"

#include <gtest/gtest.h>

#include "temper/app/suites.h"
#include "temper/support/error.h"
#include "temper/tune/task.h"

namespace temper::app {
namespace {

TEST(Durations, UnitsAndFractions) {
  EXPECT_EQ(parse_duration("300"), 300);
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("5m"), 300);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
  EXPECT_EQ(parse_duration("0.5s"), 0.5);
}

TEST(Durations, NothingElseIsATime) {
  for (const char* text : {"", "m", "5 m", "5d", "-1", "0", "0m", "1e400", "nan", "5mm"}) {
    try {
      parse_duration(text);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      EXPECT_EQ(std::string(error.what()), "'" + std::string(text) +
                                               "' is not a time\n  at: --budget\n"
                                               "  hint: a number with s, m or h: 90s, 5m, 1.5h");
    }
  }
}

TEST(Durations, AYearAtMost) {
  EXPECT_EQ(parse_duration("8760h"), 8760 * 3600.0);
  for (const char* text : {"8761h", "1e300", "1e308h"}) {
    try {
      parse_duration(text);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "'" + std::string(text) + "' is too long");
    }
  }
}

TEST(Threads, AreTimedOnCpusThatAreThere) {
  EXPECT_NO_THROW(check_timed_threads(1));
  try {
    check_timed_threads(100000);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(error.message().find("100000 threads cannot be timed on "), std::string::npos);
  }
}

TEST(Seconds, ReadWell) {
  EXPECT_EQ(seconds_text(0), "-");
  EXPECT_EQ(seconds_text(-1), "-");
  EXPECT_EQ(seconds_text(1.234e-6), "1.23 us");
  EXPECT_EQ(seconds_text(123.4e-6), "123.40 us");
  EXPECT_EQ(seconds_text(1.2346e-3), "1.235 ms");
  EXPECT_EQ(seconds_text(12.5), "12.50 s");
}

TEST(Suites, EveryEntryIsATaskInItsLayout) {
  EXPECT_EQ(suite_entries("native").size(), 15U);
  EXPECT_EQ(suite_entries("nchw").size(), 30U);
  for (const char* suite : {"native", "nchw"}) {
    for (const SuiteEntry& entry : suite_entries(suite)) {
      const tune::Task task = tune::task_from_spec(suite_spec(entry, suite), 1);
      EXPECT_GT(task.flops, 0) << entry.name;
      for (const auto& [field, value] : task.key.fields) {
        if (field != "layout" || task.key.op == "attention") continue;
        EXPECT_EQ(value, std::string(suite) == "native" ? "nhwc" : "nchw") << entry.name;
      }
    }
  }
  EXPECT_THROW(suite_spec(suite_entries("nchw").front(), "blocked"), Error);
  EXPECT_THROW(suite_entries("blocked"), Error);
}

TEST(Work, AModelThatIsMissingIsNamed) {
  ModelOptions options;
  options.model = "no/such/model.onnx";
  try {
    load_model(options);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(exit_code(error.code()), 2);
    EXPECT_NE(error.where().find("no/such/model.onnx"), std::string::npos);
  }
}

TEST(Work, AStoreThatIsNotThereIsMadeOnRequestOnly) {
  const std::string path = ::testing::TempDir() + "temper-app-none.db";
  std::filesystem::remove(path);
  EXPECT_EQ(open_store(path, false), nullptr);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace temper::app
