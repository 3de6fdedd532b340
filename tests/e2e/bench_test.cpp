// What `temper bench` reports: every field, ratios as defined, thread scaling in one run.
#include <gmock/gmock.h>

#include <csignal>
#include <thread>

#include "e2e/command.h"
#include "e2e/sample_model.h"
#include "temper/measure/timing_lock.h"
#include "temper/runtime/thread_pool.h"

namespace temper::e2e {
namespace {

class Bench : public Programs {
 protected:
  void SetUp() override {
    if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  }

  static void expect_times(const nlohmann::json& side) {
    EXPECT_GT(side["min_seconds"].get<double>(), 0);
    EXPECT_GE(side["quartile_seconds"].get<double>(), side["min_seconds"].get<double>());
    EXPECT_GE(side["median_seconds"].get<double>(), side["quartile_seconds"].get<double>());
  }
};

TEST_F(Bench, EveryFieldIsThere) {
  const nlohmann::json report = json({"bench", "--op", "conv2d(ic=8,h=9,w=9,oc=16,kh=3,kw=3,pad=1,layout=nhwc)",
                                      "--peer", "onednn,openblas", "--rounds", "5", "--seed", "3"});
  EXPECT_FALSE(report["cpu"].get<std::string>().empty());
  EXPECT_THAT(report["isa"].get<std::string>(), ::testing::AnyOf("avx2", "avx512"));
  EXPECT_EQ(report["seed"], 3);
  ASSERT_EQ(report["workloads"].size(), 1U);
  const nlohmann::json& work = report["workloads"][0];
  EXPECT_THAT(work["key"].get<std::string>(), ::testing::HasSubstr("oc=16"));
  EXPECT_EQ(work["layout"], "nhwc");
  EXPECT_EQ(work["threads"], 1);
  EXPECT_LT(work["max_error"].get<double>(), 1e-5);
  expect_times(work["temper"]);
  ASSERT_EQ(work["peers"].size(), 2U);
  double best = 1e30;
  for (const nlohmann::json& peer : work["peers"]) {
    expect_times(peer);
    EXPECT_FALSE(peer["version"].get<std::string>().empty());
    const double ratio = peer["quartile_seconds"].get<double>() / work["temper"]["quartile_seconds"].get<double>();
    EXPECT_NEAR(peer["ratio"].get<double>(), ratio, 1e-9 * ratio);
    best = std::min(best, ratio);
  }
  EXPECT_NEAR(work["best_ratio"].get<double>(), best, 1e-9 * best);
}

TEST_F(Bench, ScalingTimesOneThreadInTheSameRun) {
  if (runtime::allowed_cpus().size() < 2) GTEST_SKIP() << "this process may use one CPU";
  const nlohmann::json report = json(
      {"bench", "--op", "matmul(m=64,n=64,k=64)", "--threads", "2", "--scaling", "--peer", "onednn", "--rounds", "5"});
  ASSERT_EQ(report["workloads"].size(), 2U);
  const nlohmann::json &one = report["workloads"][0], &two = report["workloads"][1];
  EXPECT_EQ(one["threads"], 1);
  EXPECT_EQ(two["threads"], 2);
  EXPECT_FALSE(one.contains("scaling"));
  const auto time = [](const nlohmann::json& side) { return side["quartile_seconds"].get<double>(); };
  EXPECT_DOUBLE_EQ(two["scaling"]["temper"].get<double>(), time(one["temper"]) / time(two["temper"]));
  EXPECT_DOUBLE_EQ(two["scaling"]["onednn"].get<double>(), time(one["peers"][0]) / time(two["peers"][0]));
}

TEST_F(Bench, TimesTheKernelsOfOtherDatabases) {
  const std::string spec = "matmul(m=24,n=32,k=40)";
  tune_calmly({"tune", "--op", spec, "--trials", "4"}, "a.db");
  const nlohmann::json work = json({"bench", "--op", spec, "--db", "a.db", "--against", "none.db", "--against", "a.db",
                                    "--rounds", "5"})["workloads"][0];
  ASSERT_EQ(work["against"].size(), 2U) << work;
  EXPECT_EQ(work["against"][0]["db"], "none.db");
  EXPECT_TRUE(work["against"][0]["record"].is_null());
  EXPECT_FALSE(work["against"][1]["record"].is_null());
  for (const nlohmann::json& other : work["against"]) {
    expect_times(other);
    EXPECT_DOUBLE_EQ(other["ratio"].get<double>(),
                     other["quartile_seconds"].get<double>() / work["temper"]["quartile_seconds"].get<double>());
  }
}

TEST_F(Bench, EveryStepOfAModelIsTimed) {
  store::testing::write_file(file("m.onnx"), sample_model().model.SerializeAsString());
  const nlohmann::json report = json({"bench", "m.onnx", "--rounds", "5", "--every-step"});
  const nlohmann::json& steps = report["workloads"][0]["steps"];
  ASSERT_GT(steps.size(), 1U);
  double sum = 0;
  for (const nlohmann::json& step : steps) {
    EXPECT_FALSE(step["step"].get<std::string>().empty());
    EXPECT_FALSE(step["task"].get<std::string>().empty());
    EXPECT_GT(step["min_seconds"].get<double>(), 0);
    EXPECT_GE(step["median_seconds"].get<double>(), step["min_seconds"].get<double>());
    sum += step["median_seconds"].get<double>();
  }
  EXPECT_GT(sum, 0);
}

TEST_F(Bench, RefusesWhatCannotBeTimed) {
  expect_error_with({"bench"}, 2, {"bench needs one of a model, --op and --suite"});
  expect_error_with({"bench", "--op", "matmul(m=4,n=4,k=4)", "--every-step"}, 2, {"--every-step is for models"});
  expect_error_with({"bench", "--suite", "fast"}, 2, {"fast", "native"});
  expect_error_with({"bench", "--suite", "native", "--only", "gmm_3"}, 2, {"no workload 'gmm_3'"});
  expect_error_with({"bench", "--op", "matmul(m=4,n=4,k=4)", "--peer", "mkl"}, 2, {"mkl", "onednn"});
}

TEST_F(Bench, WaitsUntilNobodyElseTimes) {
  const fs::path file = folder() / "temper-timing.lock";
  measure::TimingLock lock(file);
  auto held = lock.acquire(measure::TimingLock::Mode::Time, {});
  ASSERT_TRUE(held);
  Running bench(kBin / "temper", {"bench", "--op", "softmax(rows=4,cols=4)", "--rounds", "5"}, folder(),
                {"TMPDIR=" + folder().string()});
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // more than it needs alone
  EXPECT_TRUE(is_alive(bench.pid())) << "it timed while another process held the lock";
  held.reset();
  const Outcome outcome = bench.wait();
  EXPECT_EQ(outcome.code, 0) << outcome;
}

TEST_F(Bench, AStopWhileTimingEndsItAtOnce) {
  Running bench(kBin / "temper", {"bench", "--op", "matmul(m=64,n=64,k=64)", "--rounds", "10000"}, folder(),
                {"TMPDIR=" + folder().string()});
  // The lock is made right before the timing, which would take 20 s.
  while (is_alive(bench.pid()) && !fs::exists(file("temper-timing.lock")))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  bench.signal(SIGINT);
  const Outcome outcome = bench.wait();
  EXPECT_EQ(outcome.code, 130) << outcome;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("stopped on request"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Bench, PeersThatCannotTakeTheWorkAreNoted) {
  const nlohmann::json report =
      json({"bench", "--op", "layernorm(rows=4,cols=8,epsilon=0.5)", "--peer", "onednn", "--rounds", "5"});
  const nlohmann::json& work = report["workloads"][0];
  EXPECT_TRUE(work["peers"].empty());
  EXPECT_LT(work["max_error"].get<double>(), 1e-4);
  ASSERT_EQ(work["notes"].size(), 1U);
  EXPECT_THAT(work["notes"][0].get<std::string>(), ::testing::HasSubstr("onednn: peers normalise with an epsilon"));
  const nlohmann::json same =
      json({"bench", "--op", "layernorm(rows=4,cols=8,epsilon=1e-5)", "--peer", "onednn", "--rounds", "5"});
  EXPECT_EQ(same["workloads"][0]["peers"].size(), 1U);
}

}  // namespace
}  // namespace temper::e2e
