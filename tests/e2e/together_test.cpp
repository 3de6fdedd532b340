// Four tuners on one file, killed at any moment; and what becomes of records after an upgrade.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <thread>

#include "e2e/tuning.h"
#include "temper/store/sqlite_connection.h"
#include "temper/support/random.h"

namespace temper::e2e {
namespace {

using ::testing::HasSubstr;

class FourTuners : public Tuning {
 protected:
  static constexpr int kTuners = 4;
  std::unique_ptr<Running> start(int seed, const std::string& trials) const {
    return std::make_unique<Running>(kBin / "temper",
                                     std::vector<std::string>{"tune", "--op", kSpec, "--trials", trials, "--db",
                                                              "tmp.db", "--seed", std::to_string(seed), "--json"},
                                     folder());
  }
};

TEST_F(FourTuners, KilledAtAnyMomentLoseNothingAndLeaveNoProcess) {
  constexpr int kKills = 10;
  RandomStream random(4);
  const Orphanage orphanage;
  std::vector<std::unique_ptr<Running>> tuners;
  for (int i = 0; i < kTuners; ++i) tuners.push_back(start(i, "100000"));
  std::map<std::string, std::int64_t> known;
  for (int kill = 0; kill < kKills; ++kill) {
    // Sometimes while it starts or stores, sometimes when more is stored for sure.
    if (kill % 4 == 3) wait_for_records("tmp.db", known.size() + 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(random.uniform_int(0, 500)));
    known = measured("tmp.db");
    std::unique_ptr<Running>& tuner = tuners[static_cast<std::size_t>(random.uniform_int(0, kTuners - 1))];
    const std::vector<pid_t> workers = children_of(tuner->pid());
    tuner->signal(SIGKILL);
    EXPECT_EQ(tuner->wait().signal, SIGKILL);
    expect_all_gone(workers);
    const std::map<std::string, std::int64_t> now = measured("tmp.db");
    for (const auto& [candidate, when] : known) {
      const auto found = now.find(candidate);
      ASSERT_NE(found, now.end()) << candidate << " is lost after kill " << kill;
      EXPECT_EQ(found->second, when) << candidate << " was stored again before kill " << kill;
    }
    tuner = start(kTuners + kill, "100000");
  }
  for (const std::unique_ptr<Running>& tuner : tuners) tuner->signal(SIGKILL);
  for (const std::unique_ptr<Running>& tuner : tuners) EXPECT_EQ(tuner->wait().signal, SIGKILL);
  Orphanage::expect_empty();
  known = measured("tmp.db");
  ASSERT_FALSE(known.empty());
  const nlohmann::json resumed = json({"tune", "--op", kSpec, "--trials", "4", "--db", "tmp.db"});
  EXPECT_EQ(resumed["tasks"][0]["resumed"], known.size());
  EXPECT_EQ(measured("tmp.db").size(), known.size() + 4) << "every trial was of a candidate that was not there";
}

// What they measure twice is what is in flight in two of them: tests/tune/together_test.cpp counts that.
TEST_F(FourTuners, EndWellAndStoreEveryTrialOnce) {
  constexpr int kTrials = 12;
  std::vector<std::unique_ptr<Running>> tuners;
  for (int i = 0; i < kTuners; ++i) tuners.push_back(start(i, std::to_string(kTrials)));
  for (const std::unique_ptr<Running>& tuner : tuners) {
    const Outcome outcome = tuner->wait();
    ASSERT_EQ(outcome.code, 0) << outcome;
    EXPECT_EQ(nlohmann::json::parse(outcome.out)["trials"], kTrials);
  }
  const std::size_t stored = measured("tmp.db").size();
  EXPECT_GE(stored, std::size_t{kTrials});
  EXPECT_LE(stored, std::size_t{kTuners * kTrials});
}

class Upgrade : public Tuning {
 protected:
  /// Makes all records those of an older Temper.
  void age(const std::string& db) const {
    store::Connection(file(db), store::Connection::Access::ReadWrite, std::chrono::seconds(1))
        .execute("UPDATE records SET temper_version = '0.0.1'");
  }
};

TEST_F(Upgrade, WinnersAreNotUsedUntilTheyAreChecked) {
  tune_calmly({"tune", "--op", kSpec, "--trials", "24"}, "tmp.db");
  const auto explained = [&] { return json({"explain", "--op", kSpec, "--db", "tmp.db"})["artifact_hash"]; };
  const nlohmann::json untuned = json({"explain", "--op", kSpec, "--db", "none.db"})["artifact_hash"];
  age("tmp.db");
  EXPECT_EQ(explained(), untuned) << "what another version measured is never applied";
  const Outcome note = temper({"explain", "--op", kSpec, "--stage", "trace", "--db", "tmp.db"});
  EXPECT_THAT(note.err, HasSubstr("it is of another Temper version; `temper db revalidate` checks such records"));

  nlohmann::json report;
  for (int attempt = 0; attempt < 4; ++attempt) {  // a busy machine may leave it undecided
    const Outcome outcome = temper({"db", "revalidate", "--db", "tmp.db", "--json"});
    report = nlohmann::json::parse(outcome.out);
    if (report["counts"]["undecided"] == 0) break;
  }
  ASSERT_EQ(report["tasks"].size(), 1U) << report;
  const nlohmann::json& task = report["tasks"][0];
  EXPECT_THAT(task["verdict"].get<std::string>(), ::testing::AnyOf("confirmed", "default_kept")) << report;
  EXPECT_GE(task["records"].size(), 3U);
  for (const nlohmann::json& record : task["records"]) {
    EXPECT_EQ(record["temper"], "0.0.1");
    EXPECT_THAT(record["failure"].get<std::string>(), ::testing::AnyOf("none", "unstable")) << record;
  }
  const nlohmann::json best = json({"db", "best", "--op", kSpec, "--count", "50", "--db", "tmp.db"});
  const bool timed =
      std::ranges::any_of(task["records"], [](const auto& record) { return record["failure"] == "none"; });
  EXPECT_EQ(std::ranges::any_of(best["records"], [](const auto& record) { return record["current"] == true; }), timed);
  const nlohmann::json bench = json({"bench", "--op", kSpec, "--rounds", "5", "--db", "tmp.db"});
  EXPECT_FALSE(bench.empty());
  const nlohmann::json again = json({"db", "revalidate", "--db", "tmp.db"});
  EXPECT_EQ(again["tasks"].size(), 0U);
  EXPECT_EQ(again["untouched"], 1);
  EXPECT_EQ(json({"db", "revalidate", "--all", "--older-than", "1h", "--db", "tmp.db"})["untouched"], 1);
}

TEST_F(Upgrade, ACheckIsStoppedAndTakenUpAgain) {
  for (const char* spec : {"matmul(m=64,n=64,k=64)", "matmul(m=64,n=64,k=96)", "matmul(m=64,n=96,k=64)"})
    json({"tune", "--op", spec, "--trials", "3", "--db", "tmp.db"});
  age("tmp.db");
  const auto current = [&] {
    std::int64_t count = 0;
    store::open_sqlite(file("tmp.db"), store::OpenMode::ReadOnly)->for_each([&](const record::Record& r) {
      count += r.temper_version != "0.0.1" ? 1 : 0;
    });
    return count;
  };
  const Orphanage orphanage;
  {
    Running check(kBin / "temper", {"db", "revalidate", "--db", "tmp.db"}, folder());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (current() == 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    check.signal(SIGKILL);
    check.wait();
    Orphanage::expect_empty();
  }
  const std::int64_t decided = current();
  EXPECT_GT(decided, 0);
  if (json({"db", "stats", "--db", "tmp.db"})["versions"].size() < 2) return;  // it was quicker
  Running check(kBin / "temper", {"db", "revalidate", "--db", "tmp.db"}, folder());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (children_of(check.pid()).empty() && is_alive(check.pid()) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  check.signal(SIGINT);
  const Outcome outcome = check.wait();
  EXPECT_THAT(outcome.code, ::testing::AnyOf(130, 0, 1)) << outcome;
  if (outcome.code == 130) {
    EXPECT_THAT(outcome.err, HasSubstr("the same command goes on from there"));
  }
  EXPECT_GE(current(), decided) << "what was decided stays";
}

TEST_F(Upgrade, CheckingIsForDatabasesThatAreThere) {
  expect_error_with({"db", "revalidate", "--db", "none.db"}, 1, {"none.db", "hint:"});
  expect_error_with({"db", "revalidate", "--older-than", "1h", "--db", "none.db"}, 2, {"--older-than", "--all"});
  expect_error_with({"db", "revalidate", "--all", "--older-than", "soon", "--db", "none.db"}, 2,
                    {"'soon' is not a time", "--older-than"});
}

}  // namespace
}  // namespace temper::e2e
