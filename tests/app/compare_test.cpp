// `temper compare`: strategies on recorded spaces, by the command line as a function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "paths.h"
#include "temper/app/curve_plot.h"
#include "temper/app/session.h"

namespace temper::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kData = paths::source() + "/tests/data/recorded_spaces/";
const std::string kRecording = kData + "pnpoly_RTX3090_T4.json.gz", kDescription = kData + "pnpoly_T1.json";

struct Result {
  int code;
  std::string out, err;
};

Result compare(std::vector<std::string> arguments) {
  std::vector<const char*> words{"temper", "compare"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  std::ostringstream out, err;
  const int code = run(static_cast<int>(words.size()), words.data(), out, err);
  return {code, out.str(), err.str()};
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class Compare : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("temper-compare-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(Compare, PrintsTableAndTestsAndWritesTheCurves) {
  const std::string csv = folder_ / "c.csv", svg = folder_ / "c.svg";
  const Result r = compare({"--space", kRecording, kDescription, "--strategy", "random,genetic", "--repeats", "6",
                            "--csv", csv, "--svg", svg});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("pnpoly_RTX3090_T4: 4092 configurations, 3762 valid; best 7.224 ms, median 12.947 ms"));
  EXPECT_THAT(r.out, HasSubstr("budget 179 evaluations"));
  EXPECT_THAT(r.out, HasSubstr("random (expected)"));
  EXPECT_THAT(r.out, HasSubstr("of the pairs of runs, p"));
  const std::string table = contents(csv), picture = contents(svg);
  EXPECT_EQ(count(table, "\n"), 1 + 3 * 179 + 2 * 200u);
  EXPECT_THAT(table, HasSubstr("\npnpoly_RTX3090_T4,genetic,seconds,"));
  EXPECT_EQ(count(picture, "<polyline"), 5u);  // two strategies in two panels, the expectation in one
  EXPECT_EQ(count(picture, "<polygon"), 4u);
}

TEST_F(Compare, JsonHoldsEverythingAndIsReproducible) {
  const auto read = [] {
    const Result r = compare({"--json", "--space", kRecording, "--strategy", "random", "--strategy", "annealing",
                              "--repeats", "3", "--seed", "5", "--option", "annealing.walkers=4"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.err, "");
    return nlohmann::json::parse(r.out);
  };
  nlohmann::json first = read(), again = read();
  for (nlohmann::json* json : {&first, &again}) {
    for (nlohmann::json& strategy : json->at("spaces")[0]["strategies"]) {
      EXPECT_GT(strategy["evaluations_per_second"].get<double>(), 0);
      strategy.erase("evaluations_per_second");
    }
  }
  EXPECT_EQ(first, again);
  EXPECT_EQ(first["spaces"][0]["budget_evaluations"], 179);
  EXPECT_EQ(first["spaces"][0]["strategies"][1]["scores"].size(), 3u);
  EXPECT_EQ(first["spaces"][0]["strategies"][1]["over_time"]["x"].size(), 200u);
  EXPECT_EQ(first["rank_tests"].size(), 1u);
  EXPECT_EQ(first["strategies"][1]["name"], "annealing");
}

TEST_F(Compare, WhatAnotherRecordingSaysIsKnownBeforeTheSearch) {
  const std::filesystem::path other = folder_ / "other.json.gz";
  std::filesystem::copy_file(kRecording, other);
  const auto score = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"--json", "--space", kRecording, "--strategy", "evolutionary", "--repeats", "2"};
    words.insert(words.end(), more.begin(), more.end());
    const Result r = compare(words);
    EXPECT_EQ(r.code, 0) << r.err;
    return nlohmann::json::parse(r.out)["spaces"][0]["strategies"][0]["score"]["mean"].get<double>();
  };
  // The same times under another name: the optimum is the first guess, up to what trees smooth.
  EXPECT_GT(score({"--learn-from", other}), 0.97);
  EXPECT_LT(score({}), 0.95);
}

TEST_F(Compare, NothingIsLearnedByHeartOrInVain) {
  const Result same = compare({"--space", kRecording, "--learn-from", kRecording});
  EXPECT_NE(same.code, 0);
  EXPECT_THAT(same.err, HasSubstr("what was learned from itself"));
  const std::filesystem::path other = folder_ / "strange.json";
  std::ofstream(other) << R"({"schema_version": "1.0.0", "metadata": {"timeunit": "ms"}, "results": [
    {"configuration": {"x": 1}, "invalidity": "correct", "measurements": [{"name": "time", "value": 1, "unit": "ms"}],
     "objectives": ["time"], "times": {}},
    {"configuration": {"x": 2}, "invalidity": "correct", "measurements": [{"name": "time", "value": 2, "unit": "ms"}],
     "objectives": ["time"], "times": {}}]})";
  const Result strange = compare({"--space", kRecording, "--strategy", "random", "--learn-from", other});
  EXPECT_NE(strange.code, 0);
  EXPECT_THAT(strange.err, HasSubstr("no compared space has the parameters of 'strange'"));
}

TEST_F(Compare, MistakesAreExplained) {
  const auto error = [](std::vector<std::string> arguments) {
    const Result r = compare(std::move(arguments));
    EXPECT_NE(r.code, 0);
    EXPECT_EQ(r.out, "");
    return r.err;
  };
  EXPECT_THAT(error({}), HasSubstr("there is nothing to compare on"));
  EXPECT_THAT(error({"--space", "none.json"}), HasSubstr("the file does not exist"));
  EXPECT_THAT(error({"--space", kDescription}), HasSubstr("no recording of measurements"));
  EXPECT_THAT(error({"--space", kRecording, "--strategy", "randm"}), HasSubstr("there is no search strategy 'randm'"));
  EXPECT_THAT(error({"--space", kRecording, "--strategy", "grid,grid"}), HasSubstr("'grid' is named twice"));
  EXPECT_THAT(error({"--space", kRecording, kRecording}), HasSubstr("two recordings are named"));
  EXPECT_THAT(error({"--space", kRecording, "--option", "genetic"}), HasSubstr("STRATEGY.NAME=NUMBER"));
  EXPECT_THAT(error({"--space", kRecording, "--strategy", "random", "--option", "genetic.population=3"}),
              HasSubstr("not among the compared strategies"));
  EXPECT_THAT(error({"--space", kRecording, "--csv", kRecording}), HasSubstr("overwrite"));
}

TEST(CurvePlot, NamesAreEscapedAndPanelsMayBeEmpty) {
  const std::string svg =
      plot_svg("a < b", {{"one & two", "x", "y", {{"<s>", {1, 2}, {3, 4}}}}, {"none", "x", "y", {}}}, 2);
  const PlotSeries steep{"s", {1, 2}, {100, 1}};
  const std::string whole = plot_svg("", {{"p", "x", "y", {steep}}}, 1);
  const std::string cut = plot_svg("", {{"p", "x", "y", {steep}, 4}}, 1);
  EXPECT_THAT(whole, HasSubstr(">50</text>"));
  EXPECT_THAT(cut, Not(HasSubstr(">50</text>")));
  EXPECT_THAT(cut, HasSubstr(">3</text>"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("one &amp; two"));
  EXPECT_THAT(svg, HasSubstr("&lt;s&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace temper::app
