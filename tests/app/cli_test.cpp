// The command line as a function: what it prints where, without starting a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "temper/app/session.h"
#include "temper/search/strategy.h"
#include "temper/target/cpu.h"

namespace temper::app {
namespace {

using ::testing::HasSubstr;

struct Result {
  int code;
  std::string out, err;
};

Result call(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "temper");
  std::ostringstream out, err;
  const int code = run(static_cast<int>(arguments.size()), arguments.data(), out, err);
  return {code, out.str(), err.str()};
}

TEST(CommandLine, ResultsGoOutAndErrorsElsewhere) {
  const Result target = call({"target"});
  EXPECT_EQ(target.code, 0);
  EXPECT_THAT(target.out, HasSubstr("fingerprint " + target::fingerprint(target::detect())));
  EXPECT_EQ(target.err, "");
  const Result wrong = call({"target", "--wrong"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.err, HasSubstr("--wrong"));
}

TEST(CommandLine, JsonMayStandAnywhere) {
  for (const auto& arguments : {std::vector<const char*>{"--json", "target"}, {"target", "--json"}}) {
    const Result result = call(arguments);
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(nlohmann::json::parse(result.out)["fingerprint"], target::fingerprint(target::detect()));
  }
}

TEST(CommandLine, JsonErrorsHaveCodePlaceAndHint) {
  const Result result = call({"db", "list", "--db", "no/such/folder/a.db", "--json"});
  EXPECT_EQ(result.code, 1);
  const nlohmann::json error = nlohmann::json::parse(result.out)["error"];
  EXPECT_EQ(error["code"], "not_found");
  EXPECT_THAT(error["where"].get<std::string>(), HasSubstr("no/such/folder/a.db"));
  EXPECT_NE(error["hint"], "");
}

TEST(CommandLine, AFullStandardOutputIsAnError) {
  std::ostringstream err;
  std::ostream broken(nullptr);
  const char* arguments[] = {"temper", "target"};
  EXPECT_EQ(run(2, arguments, broken, err), 1);
  EXPECT_THAT(err.str(), HasSubstr("standard output cannot be written"));
}

TEST(CommandLine, SignalsAreAsBeforeWhenACommandHasEnded) {
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EQ(call({"target"}).code, 0);
    struct sigaction now{};
    ASSERT_EQ(sigaction(signal, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << "a handler that outlives its command looks at freed memory";
  }
}

TEST(Session, ALiveLineFitsIntoOneRow) {
  EXPECT_EQ(cut_to("12345", 5), "12345");
  EXPECT_EQ(cut_to("123456", 5), "12...");
  EXPECT_EQ(cut_to("123456", 2), "..");
  EXPECT_EQ(cut_to("123456", 0), "");
}

TEST(CommandLine, HelpAndVersionAreJsonToo) {
  const Result version = call({"--version", "--json"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(nlohmann::json::parse(version.out)["version"].get<std::string>(), HasSubstr("temper "));
  for (const auto& arguments : {std::vector<const char*>{"--json", "--help"}, {"tune", "--help", "--json"}}) {
    const Result help = call(arguments);
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(nlohmann::json::parse(help.out)["help"].get<std::string>(), HasSubstr("Usage: temper"));
  }
}

TEST(CommandLine, HelpTellsOfTheStrategiesOptions) {
  for (const char* command : {"tune", "compare"}) {
    const Result help = call({command, "--help"});
    EXPECT_EQ(help.code, 0);
    for (const search::StrategyInfo& info : search::strategies()) {
      EXPECT_THAT(help.out, HasSubstr("\n  " + info.name + ": "));
      for (const search::Option& option : info.options) EXPECT_THAT(help.out, HasSubstr(": " + option.doc));
    }
  }
}

TEST(Session, ProgressIsForPeople) {
  std::ostringstream out, err;
  Session session(out, err);
  session.progress("one");
  session.print("two\n");
  EXPECT_EQ(err.str(), "one\n");
  EXPECT_EQ(out.str(), "two\n");
  session.json = true;
  session.progress("three");
  session.print("four\n");
  EXPECT_EQ(err.str(), "one\n");
  EXPECT_EQ(out.str(), "two\n");
}

}  // namespace
}  // namespace temper::app
