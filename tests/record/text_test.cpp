#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "record/generators.h"
#include "temper/record/record.h"
#include "temper/support/error.h"

namespace temper::record {
namespace {

using ::testing::HasSubstr;

template <typename Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorCode::Internal, "");
}

TEST(TaskKeyText, ReadsAsPeopleWriteIt) {
  const TaskKey key{"conv2d", {{"n", "1"}, {"in", "f32[1,64,56,56]"}, {"epilogue", "bias+relu"}}};
  EXPECT_EQ(key.text(), "conv2d(n=1,in=f32[1,64,56,56],epilogue=bias+relu)");
  EXPECT_EQ(TaskKey::parse(key.text()), key);
  EXPECT_EQ((TaskKey{"relu", {}}).text(), "relu()");
  EXPECT_EQ(TaskKey::parse("relu()"), (TaskKey{"relu", {}}));
}

TEST(TaskKeyText, EscapesWhatWouldEndAValueTooEarly) {
  const TaskKey key{"op", {{"a", "1,2"}, {"b", "]x"}, {"c", "x=y"}, {"d", "two\nlines"}, {"e=", "\\"}}};
  EXPECT_EQ(key.text(), "op(a=1\\,2,b=\\]x,c=x=y,d=two\\nlines,e\\==\\\\)");
  EXPECT_EQ(TaskKey::parse(key.text()), key);
}

TEST(TaskKeyText, SaysWhereAndWhatWasExpected) {
  const Error error = error_of([] { TaskKey::parse("matmul(m=1,n"); });
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("expected '=' after a field's name"));
  EXPECT_EQ(error.where(), "character 13 of 'matmul(m=1,n'");
  EXPECT_THAT(error.hint(), HasSubstr("operator(name=value,...)"));
}

TEST(TaskKeyText, RefusesWhatIsNotAKey) {
  for (const char* text :
       {"", "matmul", "matmul(", "matmul(m)", "matmul(m=1", "matmul(m=1))", "matmul(m=1)x", "matmul(m=[1)",
        "matmul(m=1])", "matmul(m=1,)", "matmul(m=\\q)", "matmul(m=\\", "a,b(m=1)", "op(m=a\nb)"}) {
    EXPECT_THROW(TaskKey::parse(text), Error) << text;
  }
}

RC_GTEST_PROP(TaskKeyText, RoundTripsAndSeparatesKeys, ()) {
  const TaskKey key = *testing::task_key(), other = *testing::task_key();
  RC_ASSERT(TaskKey::parse(key.text()) == key);
  RC_ASSERT((key.text() == other.text()) == (key == other));
  RC_ASSERT(key.text().find('\n') == std::string::npos);
}

RC_GTEST_PROP(TaskKeyText, ParserNeverFailsButWithItsError, ()) {
  const std::string text = *testing::tricky_text();
  try {
    const TaskKey key = TaskKey::parse(text);
    RC_ASSERT(TaskKey::parse(key.text()) == key);
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ErrorCode::InvalidArgument);
  }
}

TEST(CandidateText, ReadsAsPeopleWriteIt) {
  const CandidateRecord candidate{"matmul.packed", {{"m_tile", 6}, {"offset", -1}}};
  EXPECT_EQ(candidate.text(), "matmul.packed{m_tile=6,offset=-1}");
  EXPECT_EQ(CandidateRecord::parse(candidate.text()), candidate);
}

TEST(CandidateText, RefusesWhatIsNotAWholeNumber) {
  const Error error = error_of([] { CandidateRecord::parse("d{tile=6x}"); });
  EXPECT_THAT(error.message(), HasSubstr("value of 'tile'"));
  for (const char* text : {"d{t=}", "d{t=1.5}", "d{t= 1}", "d{t=9223372036854775808}", "d{t=1", "d(t=1)", "d"}) {
    EXPECT_THROW(CandidateRecord::parse(text), Error) << text;
  }
}

RC_GTEST_PROP(CandidateText, RoundTripsAndSeparatesCandidates, ()) {
  const CandidateRecord candidate = *testing::candidate(), other = *testing::candidate();
  RC_ASSERT(CandidateRecord::parse(candidate.text()) == candidate);
  RC_ASSERT((candidate.text() == other.text()) == (candidate == other));
}

TEST(FailureKindText, RoundTripsAndListsTheKnownOnes) {
  for (int i = 0; i <= static_cast<int>(FailureKind::Unstable); ++i) {
    const auto kind = static_cast<FailureKind>(i);
    EXPECT_EQ(parse_failure_kind(to_string(kind)), kind);
  }
  EXPECT_EQ(to_string(FailureKind::OutOfBounds), "out_of_bounds");
  const Error error = error_of([] { parse_failure_kind("melted"); });
  EXPECT_THAT(error.what(), HasSubstr("'melted'"));
  EXPECT_THAT(error.hint(), HasSubstr("run_timeout"));
}

}  // namespace
}  // namespace temper::record
