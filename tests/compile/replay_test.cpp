#include "temper/compile/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/fixtures.h"
#include "temper/support/error.h"

namespace temper::compile {
namespace {

using ::testing::HasSubstr;
using testing::product;
using testing::scheduled;

std::string error_of(const std::string& text) {
  try {
    parse_trace_file(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  ADD_FAILURE() << "no error for: " << text;
  return {};
}

TEST(TraceFile, RoundTrip) {
  const ir::Compute compute = product();
  const TraceFile file{target::detect(), compute, scheduled(compute).trace()};
  const TraceFile again = parse_trace_file(print(file));
  EXPECT_EQ(again.target, file.target);
  EXPECT_EQ(ir::print(again.compute), ir::print(file.compute));
  EXPECT_EQ(again.trace, file.trace);
  EXPECT_EQ(print(again), print(file));
}

TEST(TraceFile, ErrorsNameSectionAndLine) {
  EXPECT_EQ(error_of(""),
            "the section '%% target' is missing\n  at: trace file\n"
            "  hint: `temper explain --stage trace` writes trace files");
  EXPECT_EQ(error_of("\nsplit C i0 2 peel\n"),
            "text before the first section\n  at: trace file, line 2\n"
            "  hint: `temper explain --stage trace` writes trace files");
  EXPECT_EQ(error_of("%% target\n%% words\n"),
            "unknown section 'words'\n  at: trace file, line 2\n  hint: sections: target, compute, trace");
  EXPECT_EQ(error_of("%% trace\n%% trace\n"),
            "the section '%% trace' comes twice\n  at: trace file, line 2\n"
            "  hint: `temper explain --stage trace` writes trace files");
  const std::string target = "%% target\n" + target::serialise(target::detect());
  EXPECT_THAT(error_of(target), HasSubstr("'%% compute' is missing"));
  EXPECT_THAT(error_of(target + "%% compute\n" + ir::print(product()) + "\n"), HasSubstr("'%% trace' is missing"));
  EXPECT_THAT(error_of(target + "%% compute\n" + ir::print(product()) + "\n%% trace\nwobble\n"),
              HasSubstr("unknown primitive 'wobble'"));
}

TEST(RecordedTrace, HoldsTheDefinition) {
  const ir::Compute compute = product();
  const schedule::Trace trace = scheduled(compute).trace();
  const RecordedTrace again = parse_recorded(print_recorded(compute, trace));
  ASSERT_TRUE(again.compute.has_value());
  EXPECT_EQ(ir::print(*again.compute), ir::print(compute));
  EXPECT_EQ(again.trace, trace);
}

TEST(RecordedTrace, TakesPrimitivesAlone) {
  const schedule::Trace trace = scheduled(product()).trace();
  const RecordedTrace again = parse_recorded(schedule::print(trace));
  EXPECT_FALSE(again.compute.has_value());
  EXPECT_EQ(again.trace, trace);
}

TEST(Fingerprint, TellsBytesApart) {
  codegen::Artifact one, two;
  one.bytes = {std::byte{1}, std::byte{2}};
  two.bytes = {std::byte{1}, std::byte{3}};
  EXPECT_EQ(fingerprint(one), fingerprint(codegen::Artifact{one.bytes}));
  EXPECT_NE(fingerprint(one), fingerprint(two));
  EXPECT_THAT(fingerprint(one), ::testing::MatchesRegex("[0-9a-f]{16}"));
}

}  // namespace
}  // namespace temper::compile
