// A kernel is rebuilt byte for byte from definition and trace, in a process that knows no operator and no template.
#include <gmock/gmock.h>

#include "e2e/command.h"

namespace temper::e2e {
namespace {

using store::testing::read_file;
using store::testing::write_file;

class Replay : public Programs {
 protected:
  void SetUp() override {
    if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  }
};

/// Every workload that a published figure is about (suite `native`), and some with epilogues.
class ReplayOf : public Replay, public ::testing::WithParamInterface<const char*> {};

TEST_P(ReplayOf, RebuildsTheSameBytes) {
  const nlohmann::json explained = json({"explain", "--op", GetParam()});
  const Outcome printed = temper({"explain", "--op", GetParam(), "--stage", "trace"});
  EXPECT_EQ(printed.out, explained["trace"].get<std::string>());
  write_file(file("kernel.trace"), printed.out);
  const std::string hash = explained["artifact_hash"];
  const std::string size = explained["artifact_bytes"].dump();

  const Outcome replayed = program(kBin / "temper-replay", {"kernel.trace", "a.so"});
  EXPECT_EQ(replayed.code, 0) << replayed;
  EXPECT_EQ(replayed.out, hash + " " + size + "\n");
  const nlohmann::json here = json({"replay", "kernel.trace", "-o", "b.so"});
  EXPECT_EQ(here["artifact_hash"], hash);
  EXPECT_EQ(read_file(file("a.so")), read_file(file("b.so")));
  EXPECT_EQ(std::to_string(read_file(file("a.so")).size()), size);
}

INSTANTIATE_TEST_SUITE_P(
    Workloads, ReplayOf,
    ::testing::Values("matmul(m=17,n=32,k=24,epilogue=bias+relu)",
                      "conv2d(ic=8,h=9,w=9,oc=16,kh=3,kw=3,pad=1,layout=nhwc)",
                      "conv_transpose2d(ic=8,h=4,w=5,oc=16,kh=4,kw=3,stride=2,pad=1)", "softmax(rows=6,cols=40)",
                      "matmul(m=1024,n=1024,k=1024)", "matmul(m=512,n=512,k=512)", "matmul(m=128,n=128,k=128)",
                      "matmul(m=128,n=768,k=3072)", "matmul(m=128,n=3072,k=768)", "matmul(m=127,n=509,k=1021)",
                      "conv2d(ic=64,h=56,w=56,oc=64,kh=3,kw=3,pad=1,layout=nhwc)",
                      "conv2d(ic=256,h=14,w=14,oc=256,kh=3,kw=3,pad=1,layout=nhwc)",
                      "conv2d(ic=512,h=7,w=7,oc=512,kh=3,kw=3,pad=1,layout=nhwc)",
                      "conv2d(ic=3,h=224,w=224,oc=64,kh=7,kw=7,stride=2,pad=3,layout=nhwc)",
                      "conv2d(ic=64,h=56,w=56,oc=64,kh=1,kw=1,layout=nhwc)",
                      "conv2d(ic=32,h=112,w=112,oc=32,kh=3,kw=3,pad=1,groups=32,layout=nhwc)",
                      "conv2d(ic=512,h=14,w=14,oc=512,kh=3,kw=3,stride=2,pad=1,groups=512,layout=nhwc)",
                      "softmax(rows=1024,cols=1024)", "layernorm(rows=128,cols=768)"),
    [](const auto& workload) { return std::to_string(workload.index); });

TEST_F(Replay, RebuildsATunedKernel) {
  const std::string spec = "conv2d(ic=32,h=14,w=14,oc=32,kh=3,kw=3,pad=1,layout=nhwc)";
  tune_calmly({"tune", "--op", spec, "--trials", "6"}, "t.db");
  const nlohmann::json records = json({"db", "best", "--op", spec, "--db", "t.db"});
  ASSERT_FALSE(records["records"].empty()) << records;
  const std::string record = records["records"][0]["id"].dump();
  const nlohmann::json explained = json({"explain", "--record", record, "--db", "t.db"});
  write_file(file("kernel.trace"), explained["trace"].get<std::string>());
  const Outcome replayed = program(kBin / "temper-replay", {"kernel.trace"});
  EXPECT_EQ(replayed.code, 0) << replayed;
  EXPECT_THAT(replayed.out, ::testing::StartsWith(explained["artifact_hash"].get<std::string>() + " "));
}

TEST_F(Replay, TheReplayerHoldsNoOperatorAndNoTemplate) {
  const Outcome symbols = program(TEMPER_NM, {"-C", (kBin / "temper-replay").string()});
  ASSERT_EQ(symbols.code, 0) << symbols;
  ASSERT_THAT(symbols.out, ::testing::HasSubstr("temper::schedule::replay")) << "the symbols are not stripped";
  for (const char* room : {"temper::ops::", "temper::space::", "temper::graph::", "temper::search::"})
    EXPECT_EQ(symbols.out.find(room), std::string::npos) << room;
}

TEST_F(Replay, BadTraceFilesAreExplained) {
  const auto refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    write_file(file("bad.trace"), text);
    expect_error_with({"replay", "bad.trace"}, 2, parts);
    const Outcome outcome = program(kBin / "temper-replay", {"bad.trace"});
    EXPECT_EQ(outcome.code, 2) << outcome;
    EXPECT_THAT(outcome.err, ::testing::HasSubstr(parts.front()));
  };
  const std::string whole = json({"explain", "--op", "softmax(rows=4,cols=16)"})["trace"];
  refused("", {"the section '%% target' is missing", "temper explain --stage trace"});
  refused("split a b\n", {"text before the first section", "line 1"});
  refused("%% nonsense\n", {"unknown section 'nonsense'", "line 1", "target, compute, trace"});
  refused(whole + "wobble out\n", {"wobble"});
  refused(whole + "split nothing i 4 peel\n", {"nothing"});
  std::string other = whole;
  other.replace(other.find("%% compute"), 10, "%% compute\n!");
  refused(other, {"line"});
  expect_error_with({"replay", "none.trace"}, 1, {"the trace file cannot be read", "none.trace"});
  EXPECT_EQ(program(kBin / "temper-replay", {}).code, 2);
}

TEST_F(Replay, HelpIsNoFile) {
  const Outcome help = program(kBin / "temper-replay", {"--help"});
  EXPECT_EQ(help.code, 0) << help;
  EXPECT_THAT(help.out, ::testing::HasSubstr("usage: temper-replay FILE"));
}

}  // namespace
}  // namespace temper::e2e
