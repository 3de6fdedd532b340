#include "temper/compile/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "compile/fixtures.h"
#include "temper/support/error.h"

namespace temper::compile {
namespace {

using ::testing::HasSubstr;
using testing::product;
using testing::scheduled;

class Compile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::can_generate(target_)) GTEST_SKIP() << "code is generated for AVX2 and FMA";
    compiler_.emplace(target_);
  }
  std::string error_of(const CompileOptions& options) {
    try {
      compiler_->compile(scheduled(compute_), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "no error";
  }

  target::Target target_ = target::detect();
  std::optional<Compiler> compiler_;
  ir::Compute compute_ = product();
};

TEST_F(Compile, TraceAndScheduleGiveTheSameBytes) {
  const schedule::Schedule schedule = scheduled(compute_);
  const Compiled from_schedule = compiler_->compile(schedule);
  const Compiled from_trace = compiler_->compile(ir::parse_compute(ir::print(compute_)), schedule.trace());
  EXPECT_FALSE(from_schedule.artifact.bytes.empty());
  EXPECT_EQ(from_schedule.artifact.bytes, from_trace.artifact.bytes);
  // Another compiler of the same target as well: nothing of one compilation stays behind for the next.
  EXPECT_EQ(Compiler(target_).compile(schedule).artifact.bytes, from_schedule.artifact.bytes);
}

TEST_F(Compile, TextsAreKeptOnRequestOnly) {
  const Compiled plain = compiler_->compile(scheduled(compute_));
  EXPECT_EQ(plain.loops_text + plain.llvm_ir + plain.assembly + plain.kernel_text + plain.schedule_text, "");
  CompileOptions options;
  options.keep_texts = true;
  const Compiled kept = compiler_->compile(scheduled(compute_), options);
  for (const std::string* text :
       {&kept.schedule_text, &kept.loops_text, &kept.kernel_text, &kept.llvm_ir, &kept.assembly})
    EXPECT_FALSE(text->empty());
  EXPECT_EQ(kept.artifact.bytes, plain.artifact.bytes);
}

TEST_F(Compile, EveryPassCanBeDumped) {
  std::set<std::string> dumps;
  for (const std::string& pass : pass_names()) {
    CompileOptions options;
    options.dump_after = pass;
    const Compiled compiled = compiler_->compile(scheduled(compute_), options);
    EXPECT_FALSE(compiled.dump.empty()) << pass;
    dumps.insert(compiled.dump);
  }
  EXPECT_GE(dumps.size(), 3U) << "loop program, kernel and machine-independent code differ";
}

TEST_F(Compile, OnlyChecksCanBeDisabled) {
  const Compiled plain = compiler_->compile(scheduled(compute_));
  for (const std::string& pass : pass_names()) {
    CompileOptions options;
    options.disabled_passes = {pass};
    if (pass.starts_with("verify-")) {
      EXPECT_EQ(compiler_->compile(scheduled(compute_), options).artifact.bytes, plain.artifact.bytes) << pass;
    } else {
      EXPECT_EQ(error_of(options), "pass '" + pass +
                                       "' cannot be disabled\n  at: --disable-pass\n"
                                       "  hint: these can: verify-nest, verify-kernel");
    }
  }
}

TEST_F(Compile, UnknownPassesAreNamed) {
  CompileOptions options;
  options.dump_after = "magic";
  EXPECT_THAT(error_of(options), HasSubstr("there is no pass 'magic'"));
  EXPECT_THAT(error_of(options), HasSubstr("nest, verify-nest, lower"));
}

TEST_F(Compile, SaysWhereTheTimeWent) {
  const Compiled compiled = compiler_->compile(scheduled(compute_));
  EXPECT_GT(compiled.nest_seconds, 0);
  EXPECT_GT(compiled.lower_seconds, 0);
  EXPECT_GT(compiled.codegen_seconds, 0);
}

}  // namespace
}  // namespace temper::compile
