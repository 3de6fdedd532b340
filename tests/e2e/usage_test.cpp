// Help, usage errors, and the promise of --json: one object on standard output and nothing else there.
#include <gmock/gmock.h>

#include "e2e/command.h"

namespace temper::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Usage : public Programs {};

const std::vector<std::vector<std::string>> kCommands = {{"tune"},
                                                         {"build"},
                                                         {"run"},
                                                         {"bench"},
                                                         {"explain"},
                                                         {"replay"},
                                                         {"db"},
                                                         {"target"},
                                                         {"operators"},
                                                         {"measure"},
                                                         {"compare"},
                                                         {"db", "list"},
                                                         {"db", "best"},
                                                         {"db", "nearest"},
                                                         {"db", "stats"},
                                                         {"db", "why-not"},
                                                         {"db", "merge"},
                                                         {"db", "export"},
                                                         {"db", "import"},
                                                         {"db", "prune"},
                                                         {"db", "revalidate"}};

TEST_F(Usage, EveryCommandHasHelpThatNamesJson) {
  for (std::vector<std::string> command : kCommands) {
    command.emplace_back("--help");
    const Outcome outcome = temper(command);
    EXPECT_EQ(outcome.code, 0) << outcome;
    EXPECT_THAT(outcome.out, HasSubstr("Usage: temper")) << command.front();
    EXPECT_THAT(outcome.out, HasSubstr("--json")) << command.front();
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_F(Usage, HelpListsEveryCommand) {
  const Outcome outcome = temper({"--help"});
  EXPECT_EQ(outcome.code, 0);
  for (const char* name :
       {"tune", "build", "run", "bench", "explain", "replay", "db", "operators", "target", "measure", "compare"})
    EXPECT_THAT(outcome.out, HasSubstr(std::string("\n  ") + name + " "));
}

TEST_F(Usage, TheSelfTestRacesRealKernels) {
  const Outcome outcome = temper({"measure", "--self-test", "--races", "1", "--unequal-races", "0", "--json"});
  if (outcome.err.find("never let") != std::string::npos) {
    EXPECT_EQ(outcome.code, 1) << outcome;
    GTEST_SKIP() << "the machine is too busy for samples of milliseconds";
  }
  EXPECT_EQ(outcome.code, 0) << outcome;
  const nlohmann::json series = nlohmann::json::parse(outcome.out).at("series");
  ASSERT_EQ(series.size(), 3U) << "of 20 us, 200 us and 5 ms";
  for (const nlohmann::json& races : series) {
    EXPECT_EQ(races.at("races"), 1);
    EXPECT_GT(races.at("seconds"), 0);
  }
  EXPECT_EQ(temper({"measure"}).code, 2);
}

TEST_F(Usage, Version) {
  const Outcome outcome = temper({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, ::testing::MatchesRegex("temper [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(Usage, WrongUsageEndsWithTwoAndSaysWhere) {
  const std::vector<std::vector<std::string>> wrong = {{},     {"frobnicate"},      {"tune", "--no-such-flag"},
                                                       {"db"}, {"build", "a.onnx"}, {"target", "--log-level"}};
  for (const std::vector<std::string>& arguments : wrong) {
    const Outcome outcome = temper(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome;
    EXPECT_THAT(outcome.err, StartsWith("temper: "));
    EXPECT_THAT(outcome.err, HasSubstr("hint: temper --help"));
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_EQ(temper({"target", "--log-level", "loud"}).code, 2);
}

TEST_F(Usage, WorkIsOneModelOrOneOperator) {
  expect_error(
      {"tune"}, 2,
      "temper: nothing to work on\n  at: command line\n  hint: give an ONNX model or --op SPEC, one of them\n");
  expect_error({"tune", "a.onnx", "--op", "softmax(rows=4,cols=4)"}, 2,
               "temper: a model and --op together\n  at: command line\n"
               "  hint: give an ONNX model or --op SPEC, one of them\n");
  expect_error({"explain", "--op", "softmax(rows=4,cols=4)", "--shape", "x=1"}, 2,
               "temper: --shape is for models\n  at: --shape\n  hint: an operator's sizes are in its SPEC\n");
}

TEST_F(Usage, BudgetsAndOptionsAreChecked) {
  const std::string op = "softmax(rows=4,cols=4)";
  for (const char* budget : {"soon", "5x", "-3", "0", "nan", "inf"}) {
    expect_error({"tune", "--op", op, "--budget", budget}, 2,
                 "temper: '" + std::string(budget) +
                     "' is not a time\n  at: --budget\n  hint: a number with s, m or h: 90s, 5m, 1.5h\n");
  }
  expect_error_with({"tune", "--op", op, "--strategy", "magic"}, 2, {"there is no strategy 'magic'", "evolutionary"});
  expect_error_with({"tune", "--op", op, "--option", "population"}, 2, {"'population' is not NAME=NUMBER"});
  if (can_run_generated_code())
    expect_error_with({"tune", "--op", op, "--budget", "0.000001"}, 2,
                      {"the budget ended before anything was measured"});
  expect_error_with({"tune", "--op", op, "--trials", "0"}, 2, {"--trials"});
  expect_error_with({"tune", "--op", op, "--threads", "0"}, 2, {"--threads"});
}

TEST_F(Usage, SpecErrorsNameTheWordAndWhatWasExpected) {
  const auto refused = [&](const std::string& spec, const std::vector<std::string>& parts) {
    expect_error_with({"explain", "--op", spec}, 2, parts);
  };
  refused("matmull(m=1,n=1,k=1)", {"'matmull'", "matmul"});
  refused("matmul(m=512,n=512)", {"k"});
  refused("matmul(m=512,n=512,k=abc)", {"abc"});
  refused("matmul(m=512,n=512,k=-3)", {"-3"});
  refused("matmul(m=512,n=512,k=99999999999999999999)", {"99999999999999999999"});
  refused("matmul(m=512,n=512,k=512,q=1)", {"'q'"});
  refused("matmul(m=512,n=512,k=512", {")"});
  refused("conv2d(ic=3,h=8,w=8,oc=4,kh=3,kw=3,layout=chwn)", {"chwn", "nchw"});
  refused("matmul(m=8,n=8,k=8,epilogue=wobble)", {"wobble", "relu"});
  refused("", {"at"});
}

TEST_F(Usage, ErrorsAreJsonToo) {
  const nlohmann::json out = json({"explain", "--op", "matmul(m=2,n=2,k=x)"}, 2);
  ASSERT_TRUE(out.contains("error"));
  for (const char* field : {"code", "message", "where", "hint"}) EXPECT_TRUE(out["error"].contains(field)) << field;
  EXPECT_EQ(out["error"]["code"], "invalid_argument");
  EXPECT_EQ(json({"tune", "--no-such-flag"}, 2)["error"]["where"], "command line");
}

TEST_F(Usage, ReadingCommandsGiveJson) {
  EXPECT_TRUE(json({"target"}).contains("fingerprint"));
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  const nlohmann::json explained = json({"explain", "--op", "matmul(m=16,n=16,k=16)"});
  for (const char* stage : {"compute", "schedule", "loops", "llvm", "asm", "trace"})
    EXPECT_NE(explained[stage].get<std::string>(), "") << stage;
  EXPECT_FALSE(fs::exists(file("temper.db"))) << "explaining makes no database";
}

TEST_F(Usage, ExplainPrintsOneStageOrADump) {
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  const std::string op = "matmul(m=16,n=16,k=16)";
  const Outcome compute = temper({"explain", "--op", op, "--stage", "compute"});
  EXPECT_EQ(compute.code, 0) << compute;
  EXPECT_THAT(compute.out, HasSubstr("matmul"));
  EXPECT_THAT(compute.out, ::testing::Not(HasSubstr("== ")));
  const Outcome dump = temper({"explain", "--op", op, "--dump-after", "lower"});
  EXPECT_EQ(dump.code, 0) << dump;
  EXPECT_NE(dump.out, "");
  expect_error_with({"explain", "--op", op, "--dump-after", "magic"}, 2, {"there is no pass 'magic'", "nest"});
  expect_error_with({"explain", "--op", op, "--disable-pass", "lower"}, 2,
                    {"pass 'lower' cannot be disabled", "verify-nest"});
  EXPECT_EQ(temper({"explain", "--op", op, "--disable-pass", "verify-nest", "--stage", "trace"}).code, 0);
}

TEST_F(Usage, OptionsWithoutMeaningAreRefused) {
  const std::string op = "softmax(rows=4,cols=4)";
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& option) {
    expect_error_with(arguments, 2, {"temper: ", option, "at: " + option, "hint: "});
  };
  refused({"bench", "--op", op, "--only", "foo"}, "--only");
  refused({"bench", "--op", op, "--shape", "x=1"}, "--shape");
  refused({"bench", "a.onnx", "--only", "foo"}, "--only");
  refused({"bench", "a.onnx", "--scaling"}, "--scaling");
  refused({"bench", "a.onnx", "--against", "b.db"}, "--against");
  refused({"run", "b.temper", "--shape", "x=1"}, "--shape");
  refused({"run", "b.temper", "--db", "a.db"}, "--db");
  refused({"tune", "--op", op, "--disable-pass", "layout"}, "--disable-pass");
  refused({"explain", "--record", "1", "--op", op}, "--op");
  refused({"explain", "--record", "1", "--threads", "2"}, "--threads");
  refused({"explain", "--op", op, "--task", "0"}, "--task");
  refused({"explain", "--op", op, "--dump-after", "lower", "--stage", "asm"}, "--stage");
  expect_error_with({"tune", "--op", op, "--patience", "-5"}, 2, {"--patience"});
  for (const char* command : {"tune", "bench"}) expect_error_with({command, "--op", op, "--seed", "-1"}, 2, {"--seed"});
  expect_error_with({"build", "a.onnx", "-o", "a.temper", "--shape", "x=1", "--shape", "x=2"}, 2,
                    {"the shape of 'x' is given twice", "at: --shape"});
  EXPECT_EQ(json({"bench", "--op", op, "--only", "foo"}, 2)["error"]["where"], "--only");
}

TEST_F(Usage, OptionsTakeOneValueAndLeaveTheModelAlone) {
  const std::vector<std::vector<std::string>> commands = {{"explain", "--disable-pass", "layout"},
                                                          {"explain", "--shape", "x=1"},
                                                          {"tune", "--disable-pass", "layout"},
                                                          {"tune", "--option", "population=8"},
                                                          {"bench", "--shape", "x=1"},
                                                          {"bench", "--peer", "onnxruntime"},
                                                          {"run", "--input", "x=x.npy"}};
  for (std::vector<std::string> command : commands) {
    command.emplace_back("none.onnx");
    expect_error_with(command, 2, {"no such model", "none.onnx"});
  }
  expect_error_with({"bench", "--suite", "native", "--only", "nothing", "none.onnx"}, 2,
                    {"one of a model, --op and --suite"});
}

TEST_F(Usage, AModelThatIsNotThereIsWrongUsage) {
  for (const char* command : {"tune", "explain", "bench", "run"})
    expect_error_with({command, "none.onnx"}, 2, {"none.onnx", "hint: "});
  expect_error_with({"build", "none.onnx", "-o", "x.temper"}, 2, {"none.onnx", "hint: "});
  expect_error_with({"run", "none.temper"}, 2, {"none.temper", "hint: "});
}

TEST_F(Usage, FoldersThatAreNotThereAreNoBug) {
  expect_error_with({"db", "list", "--db", ""}, 2, {"the database's path is empty", "hint: "});
  if (can_run_generated_code()) {
    const Outcome outcome =
        temper({"tune", "--op", "softmax(rows=4,cols=4)", "--trials", "1"}, {"TMPDIR=/nowhere/at/all"});
    EXPECT_EQ(outcome.code, 1) << outcome;
    EXPECT_THAT(outcome.err, HasSubstr("/nowhere/at/all"));
    EXPECT_THAT(outcome.err, HasSubstr("set TMPDIR"));
  }
  // A shell that stands in a folder which is gone.
  const std::string script = "mkdir gone && cd gone && rmdir ../gone && exec " + (kBin / "temper").string() +
                             " tune --op 'softmax(rows=4,cols=4)' --trials 1";
  const Outcome gone = program("/bin/sh", {"-c", script});
  EXPECT_EQ(gone.code, 1) << gone;
  EXPECT_THAT(gone.err, ::testing::Not(HasSubstr("bug in Temper"))) << gone;
}

}  // namespace
}  // namespace temper::e2e
