#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "paths.h"
#include "temper/search/fair_score.h"
#include "temper/space/recorded/recorded_space.h"
#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

using record::FailureKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::filesystem::path kData = std::filesystem::path(paths::source()) / "tests/data/recorded_spaces";

Recording read(const std::string& text) { return read_recording(parse_json(text, "f").root, "f", "f"); }
std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "no error";
}
std::string read_error(const std::string& text) {
  return error_of([&] { read(text); });
}

std::string entry(const std::string& configuration, const std::string& value, const std::string& more = "") {
  return R"({"configuration": {)" + configuration + R"(}, "measurements": [{"name": "time", "value": )" + value +
         R"(, "unit": ""}], "objectives": ["time"])" + more + "}";
}
std::string t4(const std::string& entries, const std::string& unit = "miliseconds") {
  return R"({"metadata": {"timeunit": ")" + unit + R"("}, "results": [)" + entries + "]}";
}

TEST(T4, TimesFailuresAndWhatTheyCost) {
  const Recording r = read(
      t4(entry(R"("x": 4, "y": 1)", "2.5",
               R"(, "invalidity": "correct", "times": {"compilation": 100, "framework": 10, "search_algorithm": 1000,
               "validation": 5, "runtimes": [2, 3]})") +
         "," + entry(R"("x": 2, "y": 1)", R"("CompilationFailedConfig")", R"(, "invalidity": "compile", "times":
               {"compilation_time": 50})") +
         "," + entry(R"("x": 2, "y": 3)", "7", R"(, "invalidity": "runtime")") + "," +
         entry(R"("x": 4, "y": 3)", R"("RuntimeFailedConfig")") + "," + entry(R"("x": 16, "y": 3)", R"("8.5")") + "," +
         entry(R"("x": 16, "y": 1)", "1e20", R"(, "invalidity": "correct")") + "," + entry(R"("x": 8, "y": 1)", "NaN") +
         "," + entry(R"("x": 8, "y": 3)", "1", R"(, "invalidity": "constraints")")));
  ASSERT_EQ(r.parameters.size(), 2u);
  EXPECT_THAT(to_knob(r.parameters[0]).values, ElementsAre(2, 4, 8, 16));
  ASSERT_EQ(r.entries.size(), 7u);
  EXPECT_EQ(r.entries[0].failure, FailureKind::None);
  EXPECT_DOUBLE_EQ(r.entries[0].seconds, 2.5e-3);
  EXPECT_DOUBLE_EQ(r.entries[0].spent_seconds, 0.120);  // without the search of the tuner that recorded
  EXPECT_THAT(r.entries[0].choice, ElementsAre(1, 0));
  EXPECT_EQ(r.entries[1].failure, FailureKind::CompileError);
  EXPECT_EQ(r.entries[1].reason, "CompilationFailedConfig");
  EXPECT_DOUBLE_EQ(r.entries[1].spent_seconds, 0.050);
  EXPECT_EQ(r.entries[2].failure, FailureKind::Crash);  // it has a time, but is said to be invalid
  EXPECT_EQ(r.entries[3].failure, FailureKind::Crash);
  EXPECT_EQ(r.entries[4].failure, FailureKind::None);  // a number in quotes
  EXPECT_DOUBLE_EQ(r.entries[4].seconds, 8.5e-3);
  EXPECT_NE(r.entries[5].failure, FailureKind::None);
  EXPECT_NE(r.entries[6].failure, FailureKind::None);
  EXPECT_THAT(r.notes, ElementsAre("1 entry said to be correct without a time taken for failed, first at entry 6",
                                   "1 entry that broke the constraints left out, first at entry 8"));
}

TEST(T4, UnitsAreRead) {
  EXPECT_DOUBLE_EQ(read(t4(entry(R"("x": 1)", "3"), "seconds")).entries[0].seconds, 3);
  EXPECT_DOUBLE_EQ(read(t4(entry(R"("x": 1)", "3"), "us")).entries[0].seconds, 3e-6);
  const std::string own = R"({"metadata": {"timeunit": "s"}, "results": [{"configuration": {"x": 1},
      "measurements": [{"name": "power", "value": 1}, {"name": "time", "value": 3, "unit": "nanoseconds"}]}]})";
  EXPECT_DOUBLE_EQ(read(own).entries[0].seconds, 3e-9);
  const Recording none = read(R"({"results": [)" + entry(R"("x": 1)", "3") + "]}");
  EXPECT_DOUBLE_EQ(none.entries[0].seconds, 3e-3);
  EXPECT_THAT(none.notes, ElementsAre(HasSubstr("taken for milliseconds")));
  EXPECT_THAT(read_error(t4(entry(R"("x": 1)", "3"), "fortnights")), HasSubstr("unit of time 'fortnights' is unknown"));
}

TEST(T4, TheLastTimeOfARepeatedConfigurationCounts) {
  const Recording r = read(t4(entry(R"("x": 1)", "3") + "," + entry(R"("x": 1)", "4") + "," +
                              entry(R"("x": 1.0)", R"("InvalidConfig")") + "," + entry(R"("x": "1")", R"("Failed")")));
  ASSERT_EQ(r.entries.size(), 1u);
  EXPECT_DOUBLE_EQ(r.entries[0].seconds, 4e-3);
  EXPECT_EQ(r.entries[0].failure, FailureKind::None);
  EXPECT_THAT(r.notes, Contains(HasSubstr("3 entries come again")));
}

TEST(T4, NumbersInQuotesAreNumbers) {
  const Recording r = read(t4(entry(R"("x": "16", "y": "16")", "3") + "," + entry(R"("x": 8, "y": "a")", "4") + "," +
                              entry(R"("x": 16, "y": "a")", "5") + "," + entry(R"("x": "2", "y": "a")", "6")));
  EXPECT_THAT(to_knob(r.parameters[0]).values, ElementsAre(2, 8, 16));
  EXPECT_EQ(r.entries[0].choice[0], r.entries[2].choice[0]);
  EXPECT_TRUE(r.parameters[1].values[0].is_text());
}

TEST(T4, WhatCannotBeUsedIsSkippedAndSaid) {
  const Recording r =
      read(t4(entry(R"("x": 1, "y": 2)", "3") + "," + entry(R"("x": 1)", "3") + R"(, {"times": {}}, 5,)" +
              entry(R"("x": 1, "y": 3, "z": 4)", "3") + "," + entry(R"("x": 9, "y": 2)", "null")));
  EXPECT_EQ(r.entries.size(), 2u);
  EXPECT_EQ(r.entries[1].failure, FailureKind::Crash);
  EXPECT_THAT(r.notes,
              ElementsAre("1 entry without a value of 'y' skipped, first at entry 2",
                          "2 entries without a configuration skipped, first at entry 3",
                          "1 entry with parameters that the first one does not have skipped, first at entry 5"));
  EXPECT_THAT(read_error(t4(R"({"times": {}})")), HasSubstr("the recording has no usable entry: 1 entry without"));
  EXPECT_THAT(read_error(R"({"results": 5})"), HasSubstr("'results' is no list"));
  EXPECT_THAT(read_error(t4(R"({"configuration": {"x": 1}, "objectives": ["GFLOP/s"]})")),
              HasSubstr("unsupported: the objective 'GFLOP/s' is no time"));
}

TEST(T4, ValuesOfAllKindsBecomeKnobs) {
  const Recording r = read(t4(entry(R"("flag": true, "mode": "row", "ratio": 0.5)", "1") + "," +
                              entry(R"("flag": false, "mode": "column", "ratio": 0.25)", "2")));
  const RecordedSpace space(r);
  ASSERT_EQ(space.designs()[0].knobs.size(), 3u);
  EXPECT_EQ(r.parameters[0].values[0].written(), "False");
  EXPECT_EQ(r.parameters[1].values[0].written(), "'row'");
  EXPECT_EQ(r.parameters[2].values[0].written(), "0.25");
  for (const search::Knob& knob : space.designs()[0].knobs) EXPECT_THAT(knob.values, ElementsAre(0, 1));
  EXPECT_EQ(space.index().size(), 2u);
  EXPECT_TRUE(space.index().contains({0, {1, 0, 1}}));
  EXPECT_FALSE(space.index().contains({0, {1, 1, 1}}));
}

constexpr const char* kCache = R"({"tune_params_keys": ["b", "a"], "tune_params": {"b": [8, 2], "a": ["u", "v"]},
"objective": "time", "cache": {
"8,u": {"b": 8, "a": "u", "time": 4.0, "times": [4.0], "compile_time": 100, "verification_time": 20, "benchmark_time": 5,
        "framework_time": 1, "strategy_time": 999},
"8,v": {"b": 8, "a": "v", "time": "InvalidConfig"},
"2,u": {"time": 6.5, "times": [6, 7], "compile_time": 10},
"2,v": {"b": 2, "a": "v", "__error__": "CompilationFailedConfig"})";

TEST(KernelTunerCache, IsRead) {
  const Recording r = read(std::string(kCache) + "}}");
  ASSERT_EQ(r.entries.size(), 4u);
  EXPECT_EQ(r.parameters[0].name, "b");
  EXPECT_THAT(to_knob(r.parameters[0]).values, ElementsAre(2, 8));
  const RecordedSpace space(r);
  const auto outcome = [&](std::vector<std::int32_t> choice) {
    return space.replayed().outcomes[*space.index().index_of({0, std::move(choice)})];
  };
  const std::int32_t u = r.parameters[1].values[0].text() == "u" ? 0 : 1;
  EXPECT_DOUBLE_EQ(outcome({1, u}).seconds, 4e-3);
  EXPECT_DOUBLE_EQ(outcome({1, u}).spent_seconds, 0.126);
  EXPECT_FALSE(outcome({1, 1 - u}).ok);
  EXPECT_DOUBLE_EQ(outcome({0, u}).seconds, 6.5e-3);  // its parameters are in the key
  EXPECT_DOUBLE_EQ(outcome({0, u}).spent_seconds, 0.023);
  EXPECT_FALSE(outcome({0, 1 - u}).ok);
}

TEST(KernelTunerCache, ACutOffFileKeepsItsWholeEntries) {
  const std::string whole(kCache);
  for (const std::string& text : {whole, whole + ",\n", whole + ", \"4,u\": {\"b\": 4, \"a\""}) {
    const JsonFile file = parse_json(text, "f");
    EXPECT_TRUE(file.cut_off);
    EXPECT_EQ(read_recording(file.root, "f", "f").entries.size(), 4u);
  }
  EXPECT_FALSE(parse_json(whole + "}}", "f").cut_off);
}

TEST(KernelTunerCache, ErrorsSayWhatIsMissing) {
  EXPECT_THAT(read_error(R"({"cache": {}})"), HasSubstr("no list 'tune_params_keys'"));
  EXPECT_THAT(read_error(R"({"tune_params_keys": ["a"], "cache": []})"), HasSubstr("'cache' is no object"));
  EXPECT_THAT(read_error(R"({"tune_params_keys": ["a"], "objective": "GFLOP/s", "cache": {}})"), HasSubstr("no time"));
  EXPECT_THAT(read_error(R"({"tune_params_keys": ["a"], "cache": {"1": {"time": 2}}})"),
              HasSubstr("without a value of 'a' skipped"));
}

constexpr const char* kDescription = R"({"General": {"BenchmarkName": "toy"}, "ConfigurationSpace": {
 "TuningParameters": [{"Name": "b", "Type": "int", "Values": "[8, 4, 2]", "Default": [4]},
                      {"Name": "only", "Type": "int", "Values": [1]},
                      {"Name": "a", "Type": "string", "Values": ["v", "u"], "Default": "w"}],
 "Conditions": [{"Expression": "b > 2 or a == 'u'", "Parameters": ["b", "a"]}]}})";

TEST(T1, DescribesASpace) {
  const Description d = read_description(parse_json(kDescription, "d").root, "d");
  EXPECT_EQ(d.name, "toy");
  EXPECT_THAT(d.notes, ElementsAre(HasSubstr("default of parameter 'a' is none of its values")));
  EXPECT_EQ(d.parameters[0].default_value->written(), "4");
  const DescribedSpace space(d);
  const search::SpaceIndex index(space);
  EXPECT_EQ(index.size(), 5u);
  EXPECT_FALSE(index.contains({0, {2, 0, 0}}));
  EXPECT_TRUE(index.contains({0, {2, 0, 1}}));
}

TEST(T1, OrdersARecordingAndIsHeldAgainstIt) {
  Recording r = read(std::string(kCache) + "}}");
  const Description d = read_description(parse_json(kDescription, "d").root, "d");
  ASSERT_TRUE(describes(d, r));
  apply_description(r, d);
  EXPECT_THAT(to_knob(r.parameters[0]).values, ElementsAre(8, 2));
  EXPECT_EQ(r.parameters[1].values[0].text(), "v");
  EXPECT_THAT(r.notes, ElementsAre("outside of what the description allows are 1 of 4 recorded configurations",
                                   HasSubstr("2 of the 5 configurations that the description allows")));
  const RecordedSpace space(r);
  EXPECT_DOUBLE_EQ(space.replayed().outcomes[*space.index().index_of({0, {0, 1}})].seconds, 4e-3);
  r.parameters[0].name = "other";
  EXPECT_FALSE(describes(d, r));
}

TEST(T1, ErrorsSayWhatAndWhere) {
  const auto error = [](const std::string& space) {
    return error_of([&] { read_description(parse_json(R"({"ConfigurationSpace": )" + space + "}", "d").root, "d"); });
  };
  const auto parameters = [](const std::string& list) {
    return R"({"TuningParameters": [)" + list + R"(], "Conditions": [])";
  };
  const std::string x = R"({"Name": "x", "Values": [1]})";
  EXPECT_THAT(error("5"), HasSubstr("'TuningParameters' is missing"));
  EXPECT_THAT(error(parameters("") + "}"), HasSubstr("no list of parameters"));
  EXPECT_THAT(error(parameters(R"({"Name": "x"})") + "}"), HasSubstr("'Values' is missing"));
  EXPECT_THAT(error(parameters(R"({"Name": "x", "Values": []})") + "}"), HasSubstr("the parameter has no values"));
  EXPECT_THAT(error(parameters(R"({"Name": "x", "Values": "[y]"})") + "}"), HasSubstr("names 'y'"));
  EXPECT_THAT(error(parameters(R"({"Name": "x", "Values": "[1"})") + "}"),
              HasSubstr("parameter 'x', expression \"[1\""));
  EXPECT_THAT(error(parameters(x + "," + x) + "}"), HasSubstr("two parameters are named 'x'"));
  EXPECT_THAT(error(R"({"TuningParameters": [)" + x + R"(], "Conditions": [{"Expression": "x < y"}]})"),
              HasSubstr("names 'y', which is no parameter"));
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("temper-recorded-" + std::to_string(getpid()) + "-" +
                                                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  static std::string error(const std::vector<std::filesystem::path>& files) {
    return error_of([&] { read_recordings(files); });
  }
  std::filesystem::path folder_;
};

TEST_F(Files, FindTheirDescriptionsInAnyOrder) {
  const auto cache = write("cache.json", std::string(kCache) + "}}"), description = write("d.json", kDescription);
  const std::vector<Recording> both = read_recordings(std::vector{description, cache});
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].name, "cache");
  EXPECT_THAT(to_knob(both[0].parameters[0]).values, ElementsAre(8, 2));
  const auto again = write("e.json", kDescription), other = write("t4.json", t4(entry(R"("x": 1)", "1")));
  EXPECT_THAT(error({description}), HasSubstr("there is no recording of measurements"));
  EXPECT_THAT(error({description, other}), HasSubstr("describes none of the recordings"));
  EXPECT_THAT(error({description, cache, again}), HasSubstr("two files describe"));
}

TEST_F(Files, ThatCannotBeReadSayWhy) {
  EXPECT_THAT(error({folder_ / "none.json"}), HasSubstr("not_found: the file does not exist"));
  EXPECT_THAT(error({folder_}), HasSubstr("this is a folder"));
  EXPECT_THAT(error({write("a", "")}), HasSubstr("the file is empty"));
  EXPECT_THAT(error({write("b", "{\n\"a\": 1,\n \"b\" 2}")}), HasSubstr("this is no JSON"));
  EXPECT_THAT(error({write("b", "{\n\"a\": 1,\n \"b\" 2}")}), HasSubstr("line 3"));
  EXPECT_THAT(error({write("c", "{\"a\": 1}")}), HasSubstr("neither a recording nor the description"));
  EXPECT_THAT(error({write("d", "\x28\xb5\x2f\xfd....")}), HasSubstr("unsupported: zstd files"));
  EXPECT_THAT(error({write("e", "\x1f\x8b....")}), HasSubstr("compressed data are damaged"));
  const std::string packed = [] {
    std::ifstream file(kData / "pnpoly_RTX3090_T4.json.gz", std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  }();
  EXPECT_THAT(error({write("f.gz", packed.substr(0, packed.size() / 2))}), HasSubstr("compressed data end too early"));
}

TEST(RealFiles, ARecordingWithItsDescription) {
  const std::vector<Recording> read =
      read_recordings(std::vector{kData / "pnpoly_RTX3090_T4.json.gz", kData / "pnpoly_T1.json"});
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].name, "pnpoly_RTX3090_T4");
  EXPECT_THAT(read[0].notes, ElementsAre());
  EXPECT_EQ(read[0].parameters[1].values.size(), 31u);
  const RecordedSpace space(read[0]);
  EXPECT_EQ(space.index().size(), 4092u);
  std::vector<double> valid;
  for (const search::Outcome& outcome : space.replayed().outcomes) {
    if (outcome.ok) valid.push_back(outcome.seconds);
  }
  const search::FairBaseline baseline(valid, 4092);
  EXPECT_EQ(baseline.valid(), 3762u);
  EXPECT_NEAR(baseline.optimum(), 7.224192e-3, 1e-12);
  EXPECT_NEAR(baseline.median(), 12.946528e-3, 1e-12);
  EXPECT_EQ(baseline.budget(0.95), 179u);
}

TEST(RealFiles, DescriptionsCountTheirSpaces) {
  const auto size = [](const char* file) {
    const std::filesystem::path path = kData / file;
    const DescribedSpace space(read_description(parse_json(read_unpacked(path), file).root, file));
    return search::SpaceIndex(space).size();
  };
  EXPECT_EQ(size("pnpoly_T1.json"), 4092u);
  EXPECT_EQ(size("convolution_T1.json"), 4362u);
  EXPECT_EQ(size("dedispersion_T1.json"), 11130u);
  EXPECT_EQ(size("gemm_T1.json"), 116928u);
}

}  // namespace
}  // namespace temper::space::recorded
