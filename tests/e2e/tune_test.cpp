// Tuning through the shipped programs: it ends well, it is stopped, it is killed, it is taken up again, it is not
// alone.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <set>
#include <sstream>
#include <thread>

#include "e2e/tuning.h"
#include "graph/model_builder.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/random.h"

namespace temper::e2e {
namespace {

using store::testing::read_file;
using ::testing::HasSubstr;

TEST_F(Tuning, EndsWithAReportAndResumesWithoutMeasuringTwice) {
  std::vector<std::string> command = {"tune", "--op", kSpec, "--trials", "12", "--seed", "1"};
  const nlohmann::json first = tune_calmly(command, "tmp.db");
  ASSERT_EQ(first["tasks"].size(), 1U);
  const nlohmann::json& task = first["tasks"][0];
  for (const char* field :
       {"name", "key", "count", "trials", "valid_candidates", "failures", "default_seconds", "best_seconds", "gflops"})
    EXPECT_TRUE(task.contains(field)) << field;
  EXPECT_EQ(task["trials"], 12);
  EXPECT_GT(task["default_seconds"], 0);
  EXPECT_GT(task["best_seconds"], 0);
  EXPECT_LE(task["best_seconds"], task["default_seconds"]);
  EXPECT_GT(task["valid_candidates"], 1000);
  double phases = 0;
  for (const char* phase : {"build", "run", "search", "model", "idle"}) phases += first[phase].get<double>();
  EXPECT_NEAR(phases, first["wall_seconds"], 1e-6);
  EXPECT_NEAR(task["seconds"].get<double>() + first["shared_seconds"].get<double>(), first["wall_seconds"], 1e-6);
  EXPECT_GT(task["roofline_seconds"], 0);
  const std::map<std::string, std::int64_t> before = measured("tmp.db");
  EXPECT_EQ(before.size(), 12U);

  command.insert(command.end(), {"--db", "tmp.db"});
  const nlohmann::json second = json(command);
  EXPECT_GE(second["tasks"][0]["resumed"], 12);
  EXPECT_EQ(second["tasks"][0]["trials"], 12);
  EXPECT_EQ(measured("tmp.db").size(), 24U) << "twelve new candidates";

  const nlohmann::json best = json({"db", "best", "--op", kSpec, "--db", "tmp.db"});
  ASSERT_FALSE(best["records"].empty());
  const std::string id = best["records"][0]["id"].dump();
  const nlohmann::json by_record = json({"explain", "--record", id, "--db", "tmp.db"});
  EXPECT_NE(by_record["trace"], "");
  EXPECT_EQ(json({"bench", "--op", kSpec, "--db", "tmp.db", "--rounds", "5"})["workloads"].size(), 1U);
}

TEST_F(Tuning, PrintsPlainLinesWithoutATerminal) {
  const Outcome outcome = temper({"tune", "--op", kSpec, "--trials", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome;
  EXPECT_THAT(outcome.out, HasSubstr("GFLOP/s"));
  EXPECT_THAT(outcome.out, HasSubstr("3 trials in "));
  EXPECT_THAT(outcome.err, HasSubstr("[1/1] matmul("));
  EXPECT_EQ(outcome.err.find('\r'), std::string::npos);
  EXPECT_EQ(outcome.err.find('\033'), std::string::npos);
  EXPECT_TRUE(fs::exists(file("temper.db"))) << "the default database lies in the working folder";
}

TEST_F(Tuning, EveryEventGoesToAFile) {
  const nlohmann::json report =
      json({"tune", "--op", kSpec, "--trials-per-task", "5", "--scheduler", "round-robin", "--json-events", "e.jsonl"});
  EXPECT_EQ(report["trials"], 5);
  EXPECT_EQ(report["scheduler"], "round-robin");
  std::istringstream lines(read_file(file("e.jsonl")));
  std::map<std::string, int> kinds;
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) {
    last = nlohmann::json::parse(line);
    EXPECT_EQ(last["schema"], 1);
    ++kinds[last["event"]];
  }
  EXPECT_EQ(kinds["started"], 1);
  EXPECT_EQ(kinds["trial"], 5);
  EXPECT_EQ(kinds["task_finished"], 1);
  EXPECT_EQ(kinds["finished"], 1);
  EXPECT_EQ(last["event"], "report");
  EXPECT_EQ(last["report"], report);
}

TEST_F(Tuning, EventsThatCannotBeWrittenStopNothingThatHasBegun) {
  const Outcome outcome = temper({"tune", "--op", kSpec, "--trials", "3", "--json-events", "/dev/full"});
  EXPECT_EQ(outcome.code, 0) << outcome;
  EXPECT_THAT(outcome.out, HasSubstr("3 trials in "));
  const std::size_t said = outcome.err.find("/dev/full");
  ASSERT_NE(said, std::string::npos) << outcome;
  EXPECT_EQ(outcome.err.find("/dev/full", said + 1), std::string::npos) << "said once";
  expect_error_with({"tune", "--op", kSpec, "--trials", "3", "--json-events", "no/such/e.jsonl", "--db", "never.db"}, 1,
                    {"the events cannot be written", "no/such/e.jsonl", "hint:"});
  EXPECT_FALSE(fs::exists(file("never.db")));
  expect_error_with({"tune", "--op", kSpec, "--scheduler", "fair", "--json-events", "e.jsonl"}, 2,
                    {"no scheduler 'fair'", "gain, round-robin"});
  EXPECT_EQ(nlohmann::json::parse(read_file(file("e.jsonl")))["event"], "failed");
}

TEST_F(Tuning, InterruptKeepsEverythingMeasured) {
  Running tuner(kBin / "temper", {"tune", "--op", kSpec, "--trials", "100000", "--db", "tmp.db"}, folder());
  wait_for_records("tmp.db", 3);
  const std::vector<pid_t> workers = children_of(tuner.pid());
  EXPECT_FALSE(workers.empty());
  tuner.signal(SIGINT);
  const Outcome outcome = tuner.wait();
  EXPECT_EQ(outcome.code, 130) << outcome;
  EXPECT_THAT(outcome.out, HasSubstr(" trials in ")) << "what was reached is printed";
  EXPECT_THAT(outcome.err, HasSubstr("everything that was measured is in tmp.db"));
  EXPECT_GE(measured("tmp.db").size(), 3U);
  expect_all_gone(workers);
}

TEST_F(Tuning, KilledAtAnyMomentAndTakenUpAgain) {
  RandomStream random(20);
  const Orphanage orphanage;
  std::map<std::string, std::int64_t> known;
  for (int kill = 0; kill < 20; ++kill) {
    Running tuner(kBin / "temper", {"tune", "--op", kSpec, "--trials", "100000", "--db", "tmp.db"}, folder());
    // The last one is killed when something is stored for sure.
    if (kill == 19) wait_for_records("tmp.db", known.size() + 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(random.uniform_int(0, 400)));
    for (const auto& [candidate, when] : measured("tmp.db")) known.emplace(candidate, when);
    tuner.signal(SIGKILL);
    EXPECT_EQ(tuner.wait().signal, SIGKILL);
    Orphanage::expect_empty();
    // The database opens, and what was in it is in it, as it was: nothing is lost and nothing was measured again.
    const std::map<std::string, std::int64_t> now = measured("tmp.db");
    for (const auto& [candidate, when] : known) {
      const auto found = now.find(candidate);
      ASSERT_NE(found, now.end()) << candidate << " is lost after kill " << kill;
      EXPECT_EQ(found->second, when) << candidate << " was measured again before kill " << kill;
    }
    known = now;
  }
  EXPECT_FALSE(known.empty());
  const nlohmann::json resumed = json({"tune", "--op", kSpec, "--trials", "4", "--db", "tmp.db"});
  EXPECT_GE(resumed["tasks"][0]["resumed"], known.size());
  EXPECT_EQ(measured("tmp.db").size(), known.size() + 4) << "every trial was of a candidate that was not there";
}

TEST_F(Tuning, TwoTunersOnOneFile) {
  const auto command = [](const std::string& seed) {
    return std::vector<std::string>{"tune", "--op", kSpec, "--trials", "6", "--db", "tmp.db", "--seed", seed, "--json"};
  };
  Running one(kBin / "temper", command("1"), folder());
  Running two(kBin / "temper", command("2"), folder());
  const Outcome first = one.wait(), second = two.wait();
  EXPECT_EQ(first.code, 0) << first;
  EXPECT_EQ(second.code, 0) << second;
  const std::size_t stored = measured("tmp.db").size();
  EXPECT_GE(stored, 6U);
  EXPECT_LE(stored, 12U);
}

TEST_F(Tuning, TheEnvironmentDecidesWhetherRecordsAndSearchAreUsed) {
  tune_calmly({"tune", "--op", kSpec, "--trials", "3"}, "temper.db");
  const auto bench = [&](const std::string& mode) {
    return temper({"bench", "--op", kSpec, "--rounds", "5"}, {"TEMPER_TUNE=" + mode});
  };
  EXPECT_THAT(bench("cached").out, HasSubstr(", tuned)"));
  const Outcome off = bench("off");
  EXPECT_THAT(off.out, HasSubstr(", default)"));
  EXPECT_THAT(off.err, HasSubstr("TEMPER_TUNE is off"));
  const Outcome wrong = bench("sometimes");
  EXPECT_EQ(wrong.code, 2) << wrong;
  EXPECT_THAT(wrong.err, HasSubstr("TEMPER_TUNE cannot be 'sometimes'"));

  // `on` searches for what has no record, into a database that is made for it.
  Running searching(kBin / "temper", {"bench", "--op", kSpec, "--db", "new.db"}, folder(), {"TEMPER_TUNE=on"});
  wait_for_records("new.db", 2);
  searching.signal(SIGINT);
  EXPECT_EQ(searching.wait().code, 130);
}

TEST_F(Tuning, AnOperatorThatCannotBeTunedFails) {
  // Elements beyond any memory: the default cannot be measured, and that is said.
  const Outcome outcome = temper({"tune", "--op", "matmul(m=4000000,n=4000000,k=4)", "--trials", "2"});
  EXPECT_THAT(outcome.code, ::testing::AnyOf(1, 2)) << outcome;
  EXPECT_THAT(outcome.err, HasSubstr("temper: ")) << outcome;
}

TEST_F(Tuning, EveryRecordIsExplained) {
  const std::string spec = "matmul(m=24,n=32,k=40,epilogue=mulc:100000+addc:2e-9)";
  tune_calmly({"tune", "--op", spec, "--trials", "8"}, "t.db");
  const nlohmann::json list = json({"db", "list", "--db", "t.db"});
  ASSERT_EQ(list["tasks"].size(), 1U);
  const std::string key = list["tasks"][0]["task"];
  std::vector<std::int64_t> ids;
  store::open_sqlite(file("t.db"), store::OpenMode::ReadOnly)->for_each([&](const record::Record& r) {
    ids.push_back(r.id);
  });
  EXPECT_EQ(ids.size(), 8U) << "one record a trial";
  for (const std::int64_t id : ids) {
    const nlohmann::json explained = json({"explain", "--record", std::to_string(id), "--db", "t.db"});
    EXPECT_EQ(explained["name"], key);
    EXPECT_FALSE(explained["asm"].get<std::string>().empty());
  }
  const std::string hash = json({"explain", "--op", spec, "--db", "t.db"})["artifact_hash"];
  EXPECT_EQ(json({"explain", "--op", key, "--db", "t.db"})["artifact_hash"], hash) << "a key is a SPEC too";
}

TEST_F(Tuning, NothingIsMeasuredTwiceWhenOtherTasksLendTheirWinners) {
  for (const int m : {24, 25, 26, 27}) {
    const std::string spec = "matmul(m=" + std::to_string(m) + ",n=32,k=40)";
    const nlohmann::json report = json({"tune", "--op", spec, "--trials", "12", "--db", "t.db"});
    EXPECT_EQ(report["trials"], 12);
    for (const nlohmann::json& task : json({"db", "list", "--db", "t.db"})["tasks"])
      EXPECT_EQ(task["records"], 12) << task;
  }
}

TEST_F(Tuning, TensorsThatAreTooLargeAreNamedBeforeAnythingIsBuilt) {
  const Outcome outcome = temper({"tune", "--op", "matmul(m=20000,n=20000,k=8)", "--trials", "4", "--db", "t.db"});
  EXPECT_EQ(outcome.code, 2) << outcome;
  EXPECT_THAT(outcome.err, HasSubstr("its tensors take 1527 MiB; a task is measured with at most 1024"));
}

TEST_F(Tuning, LayoutsThatTheEstimateCannotTellApartAreRacedOnTheWholeModel) {
  graph::testing::ModelBuilder b;
  const std::int64_t channels = 32, size = 32;
  b.input("x", {std::int64_t{1}, channels, size, size}).output("y");
  b.floats("w", {channels, channels, 3, 3},
           std::vector<float>(static_cast<std::size_t>(channels * channels * 9), 0.5F));
  b.node("Conv", {"x", "w"}, {"y"}, graph::testing::attribute("pads", std::vector<std::int64_t>(4, 1)));
  store::testing::write_file(file("m.onnx"), b.model.SerializeAsString());
  const auto chain = [&] { return json({"explain", "m.onnx", "--db", "t.db"}).at("chains").at(0); };
  EXPECT_EQ(chain().at("rivals"), nlohmann::json::array({"nchw"}));
  EXPECT_TRUE(chain().at("record").is_null());
  EXPECT_EQ(chain().at("layout"), "nhwc");

  const nlohmann::json tuned = tune_calmly({"tune", "m.onnx", "--trials", "16", "--no-peer"}, "t.db");
  EXPECT_EQ(tuned.at("tasks").size(), 3U) << "two transposes and a convolution";
  EXPECT_EQ(tuned.at("rival_tasks").size(), 1U) << "a convolution";
  EXPECT_LE(tuned.at("trials").get<int>() + tuned.at("rival_trials").get<int>(), 16);
  const nlohmann::json& layouts = tuned.at("whole_model").at("layouts");
  ASSERT_EQ(layouts.size(), 2U);
  EXPECT_EQ(layouts[0].at("rivals"), "c0=nhwc");
  EXPECT_EQ(layouts[1].at("rivals"), "c0=nchw");
  EXPECT_NE(layouts[0].at("used"), layouts[1].at("used"));
  const bool nchw = layouts[1].at("used");

  EXPECT_EQ(chain().at("layout"), nchw ? "nchw" : "nhwc");
  EXPECT_FALSE(chain().at("record").is_null());
  EXPECT_EQ(json({"build", "m.onnx", "--db", "t.db", "--no-race", "-o", "m.temper"}).at("steps"), nchw ? 1 : 3);
  EXPECT_EQ(json({"explain", "m.onnx", "--db", "none.db"}).at("chains").at(0).at("layout"), "nhwc");
}

}  // namespace
}  // namespace temper::e2e
