#include "temper/support/error.h"

#include <gtest/gtest.h>

#include <string>

namespace temper {
namespace {

TEST(Error, TextHasMessageWhereAndHintOnTheirOwnLines) {
  const Error error(ErrorCode::Io, "cannot write", "a.db", "free some space");
  EXPECT_STREQ(error.what(), "cannot write\n  at: a.db\n  hint: free some space");
  EXPECT_STREQ(Error(ErrorCode::Io, "cannot write").what(), "cannot write");
}

TEST(Error, ExitCodesSeparateWrongUsageFromFailure) {
  for (ErrorCode usage : {ErrorCode::InvalidArgument, ErrorCode::InvalidModel, ErrorCode::Unsupported}) {
    EXPECT_EQ(exit_code(usage), 2) << to_string(usage);
  }
  for (ErrorCode failed : {ErrorCode::NotFound, ErrorCode::Io, ErrorCode::Corrupt, ErrorCode::Version, ErrorCode::Busy,
                           ErrorCode::Internal}) {
    EXPECT_EQ(exit_code(failed), 1) << to_string(failed);
  }
  EXPECT_EQ(exit_code(ErrorCode::Cancelled), 130);
}

TEST(Error, FailedCheckNamesThePlaceAndTheCondition) {
  TEMPER_CHECK(1 + 1 == 2, "must not throw");
  try {
    TEMPER_CHECK(1 + 1 == 3, "sums are broken");
    FAIL() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    EXPECT_EQ(error.message(), "sums are broken");
    EXPECT_NE(error.where().find("error_test.cpp:"), std::string::npos);
    EXPECT_NE(error.where().find("1 + 1 == 3"), std::string::npos);
  }
}

}  // namespace
}  // namespace temper
