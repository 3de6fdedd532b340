#include "temper/support/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "temper/support/error.h"

namespace temper {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Logging, StartsAtWarningAndFiltersByLevel) {
  EXPECT_EQ(log_level(), LogLevel::Warning);
  testing::internal::CaptureStderr();
  log_info("quiet words");
  log_warning("loud words {}");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, Not(HasSubstr("quiet words")));
  EXPECT_THAT(text, HasSubstr("warning loud words {}\n"));
}

TEST(Logging, LevelCanBeChangedAndTurnedOff) {
  set_log_level(LogLevel::Debug);
  testing::internal::CaptureStderr();
  log_debug("details");
  set_log_level(LogLevel::Off);
  log_error("nobody hears");
  const std::string text = testing::internal::GetCapturedStderr();
  set_log_level(LogLevel::Warning);
  EXPECT_THAT(text, HasSubstr("details"));
  EXPECT_THAT(text, Not(HasSubstr("nobody hears")));
}

TEST(Logging, LevelNamesRoundTrip) {
  for (LogLevel level :
       {LogLevel::Trace, LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error, LogLevel::Off}) {
    EXPECT_EQ(parse_log_level(to_string(level)), level);
  }
}

TEST(Logging, UnknownLevelListsTheKnownOnes) {
  try {
    parse_log_level("chatty");
    FAIL() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("'chatty'"));
    EXPECT_THAT(error.hint(), HasSubstr("trace, debug, info, warning, error, off"));
  }
}

}  // namespace
}  // namespace temper
