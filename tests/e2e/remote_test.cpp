// Tuning on another machine through the shipped programs: over a Unix socket, over TCP between two network namespaces,
// with runners that are stopped, killed and started again.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>

#include "e2e/command.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"
#include "temper/tune/verdict.h"

namespace temper::e2e {
namespace {

using ::testing::HasSubstr;

const std::string kSpec = "matmul(m=64,n=64,k=64)";
const std::string kToken = "0123456789abcdef0123";

class RemoteTuning : public Programs {
 protected:
  void SetUp() override {
    if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
    store::testing::write_file(file("token"), kToken + "\n");
    chmod(file("token").c_str(), 0600);
  }

  std::string address() const { return "unix:" + file("socket").string(); }
  std::unique_ptr<Running> start_runner() const {
    auto runner = std::make_unique<Running>(
        kBin / "temper", std::vector<std::string>{"runner", "--listen", address(), "--token-file", "token"}, folder());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!fs::exists(file("socket")) && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(fs::exists(file("socket"))) << "the runner does not listen";
    return runner;
  }
  std::vector<std::string> tune(const std::string& trials) const {
    return {"tune",   "--op",     kSpec,     "--trials",     trials, "--db",
            "tmp.db", "--runner", address(), "--token-file", "token"};
  }

  /// What is stored of every candidate that ran: text → when. None may be there twice.
  std::map<std::string, std::int64_t> measured() const {
    std::map<std::string, std::int64_t> result;
    std::error_code ignored;
    if (!fs::exists(file("tmp.db"), ignored) || fs::file_size(file("tmp.db"), ignored) == 0) return result;
    try {
      store::open_sqlite(file("tmp.db"), store::OpenMode::ReadOnly)->for_each([&](const record::Record& r) {
        if (r.measurement.failure == record::FailureKind::InvalidSchedule) return;
        EXPECT_TRUE(result.emplace(r.candidate.text(), r.created_unix_ms).second) << "twice: " << r.candidate.text();
        EXPECT_NE(r.measurement.failure, record::FailureKind::Crash) << r.measurement.reason;
        EXPECT_NE(r.measurement.failure, record::FailureKind::RunTimeout) << r.measurement.reason;
      });
    } catch (const Error& error) {
      if (error.code() != ErrorCode::NotFound) throw;  // not made yet
    }
    return result;
  }
  void wait_for_records(std::size_t count) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (measured().size() < count) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "nothing was stored";
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  /// Everything of `before` is there now; as it was, unless a final has timed the best anew.
  /// Then whoever goes on times the default once more, which is one of its trials.
  bool has_unstable_default() const {
    bool found = false;
    store::open_sqlite(file("tmp.db"), store::OpenMode::ReadOnly)->for_each([&](const record::Record& r) {
      found = found ||
              (r.strategy == temper::tune::kDefaultOrigin && r.measurement.failure == record::FailureKind::Unstable);
    });
    return found;
  }
  void expect_kept(const std::map<std::string, std::int64_t>& before, bool finished = false) const {
    const std::map<std::string, std::int64_t> now = measured();
    for (const auto& [candidate, when] : before) {
      const auto found = now.find(candidate);
      ASSERT_NE(found, now.end()) << candidate << " is lost";
      EXPECT_TRUE(finished || found->second == when) << candidate << " was measured again";
    }
  }
  static void expect_all_gone(const std::vector<pid_t>& processes) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (const pid_t pid : processes) {
      while (is_alive(pid) && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_FALSE(is_alive(pid)) << "process " << pid << " outlives the runner";
    }
  }
};

TEST_F(RemoteTuning, TunesBenchesAndMeasuresThere) {
  const auto runner = start_runner();
  std::vector<std::string> command = tune("8");
  command.emplace_back("--json");
  const Outcome outcome = temper(command);
  ASSERT_EQ(outcome.code, 0) << outcome;
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["tasks"][0]["trials"], 8);
  EXPECT_EQ(measured().size(), 8U);
  const std::string fingerprint = json({"target"})["fingerprint"];
  store::open_sqlite(file("tmp.db"), store::OpenMode::ReadOnly)->for_each([&](const record::Record& r) {
    EXPECT_EQ(r.target, fingerprint) << "a record is the runner's machine's";
  });
  const nlohmann::json bench = json({"bench", "--op", kSpec, "--db", "tmp.db", "--against", "none.db", "--rounds", "6",
                                     "--runner", address(), "--token-file", "token"});
  const nlohmann::json& work = bench["workloads"][0];
  EXPECT_GT(work["temper"]["min_seconds"].get<double>(), 0);
  EXPECT_GE(work["temper"]["median_seconds"].get<double>(), work["temper"]["min_seconds"].get<double>());
  EXPECT_GT(work["against"][0]["ratio"].get<double>(), 0);
  EXPECT_LT(work["max_error"].get<double>(), 1e-4);
  runner->signal(SIGTERM);
  const Outcome stopped = runner->wait();
  EXPECT_EQ(stopped.code, 130) << stopped;
  EXPECT_THAT(stopped.err, HasSubstr("listens on " + address()));
  EXPECT_THAT(stopped.err, HasSubstr("stopped after 2 sessions"));
  EXPECT_FALSE(fs::exists(file("socket"))) << "the socket's file goes with it";
}

TEST_F(RemoteTuning, AKilledRunnerThatIsStartedAgainLosesNothing) {
  std::unique_ptr<Running> runner = start_runner();
  std::vector<std::string> command = tune("60");
  command.emplace_back("--json");
  Running tuner(kBin / "temper", command, folder());
  wait_for_records(3);
  for (int kill = 0; kill < 3; ++kill) {
    const std::vector<pid_t> workers = children_of(runner->pid());
    const std::map<std::string, std::int64_t> before = measured();
    runner->signal(SIGKILL);
    EXPECT_EQ(runner->wait().signal, SIGKILL);
    expect_all_gone(workers);
    expect_kept(before);
    fs::remove(file("socket"));
    runner = start_runner();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  const Outcome outcome = tuner.wait(120);
  ASSERT_EQ(outcome.code, 0) << outcome;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["tasks"][0]["trials"], 60);
  EXPECT_EQ(measured().size(), 60U) << "every trial was recorded once";
}

TEST_F(RemoteTuning, AKilledTunerLeavesTheRunnerFree) {
  const auto runner = start_runner();
  Running tuner(kBin / "temper", tune("100000"), folder());
  wait_for_records(3);
  const std::vector<pid_t> workers = children_of(tuner.pid());
  tuner.signal(SIGKILL);
  EXPECT_EQ(tuner.wait().signal, SIGKILL);
  expect_all_gone(workers);
  const std::map<std::string, std::int64_t> before = measured();
  const bool is_timed_anew = has_unstable_default();
  const Outcome next = temper(tune("4"));
  EXPECT_EQ(next.code, 0) << next;
  expect_kept(before, true);
  EXPECT_EQ(measured().size(), before.size() + (is_timed_anew ? 3 : 4)) << next;
  EXPECT_THAT(next.err, HasSubstr("times on " + address()));
}

TEST_F(RemoteTuning, ASecondTunerIsToldWhoTimes) {
  const auto runner = start_runner();
  Running tuner(kBin / "temper", tune("100000"), folder());
  wait_for_records(1);
  const Outcome second = temper(tune("4"));
  EXPECT_EQ(second.code, 1) << second;
  EXPECT_THAT(second.err, HasSubstr("the runner times for another tuner, process " + std::to_string(tuner.pid())));
  tuner.signal(SIGINT);
  EXPECT_EQ(tuner.wait().code, 130);
}

TEST_F(RemoteTuning, UsageIsChecked) {
  expect_error_with({"runner"}, 2, {"has to listen somewhere"});
  expect_error_with({"runner", "--listen", "http://x:1"}, 2, {"'http://x:1' is no address", "unix:PATH or tcp://"});
  expect_error_with({"runner", "--listen", "tcp://:0"}, 2, {"needs a token", "--token-file"});
  store::testing::write_file(file("open"), kToken);
  chmod(file("open").c_str(), 0644);
  expect_error_with({"runner", "--listen", "tcp://:0", "--token-file", "open"}, 2, {"other users", "chmod 600"});
  expect_error_with({"runner", "--listen", "tcp://:0", "--token-file", "none"}, 1, {"cannot read the token"});
  expect_error_with({"tune", "--op", kSpec, "--runner", address()}, 1, {"cannot reach the runner", address()});
  expect_error_with({"bench", "--op", kSpec, "--runner", address(), "--peer", "onednn"}, 2,
                    {"--peer", "remote runner"});
  expect_error_with({"bench", "m.onnx", "--runner", address()}, 2, {"times single operators"});
  const auto runner = start_runner();
  expect_error_with({"tune", "--op", kSpec, "--runner", address()}, 2,
                    {"does not know this token", "TEMPER_RUNNER_TOKEN"});
  const Outcome by_environment =
      temper({"tune", "--op", kSpec, "--runner", address(), "--trials", "1"}, {"TEMPER_RUNNER_TOKEN=" + kToken});
  EXPECT_EQ(by_environment.code, 0) << by_environment;
}

/// Two network namespaces, one cable between them.
class Namespaces {
 public:
  Namespaces() {
    const std::string id = std::to_string(getpid());
    runner_ = "temper-r" + id;
    tuner_ = "temper-t" + id;
    const std::string a = "tra" + id, b = "trb" + id;
    works_ = geteuid() == 0 && sh("ip netns add " + runner_) && sh("ip netns add " + tuner_) &&
             sh("ip link add " + a + " netns " + runner_ + " type veth peer name " + b + " netns " + tuner_) &&
             sh("ip -n " + runner_ + " addr add 10.231.7.1/30 dev " + a) &&
             sh("ip -n " + tuner_ + " addr add 10.231.7.2/30 dev " + b) && sh("ip -n " + runner_ + " link set lo up") &&
             sh("ip -n " + runner_ + " link set " + a + " up") && sh("ip -n " + tuner_ + " link set " + b + " up");
    cable_ = a;
  }
  Namespaces(const Namespaces&) = delete;
  Namespaces& operator=(const Namespaces&) = delete;
  ~Namespaces() {
    sh("ip netns del " + runner_);
    sh("ip netns del " + tuner_);
  }
  bool works() const { return works_; }
  const std::string& runner() const { return runner_; }
  const std::string& tuner() const { return tuner_; }
  void pull_the_cable() const { sh("ip -n " + runner_ + " link set " + cable_ + " down"); }
  void put_it_back() const { sh("ip -n " + runner_ + " link set " + cable_ + " up"); }
  static std::string address() { return "tcp://10.231.7.1:7070"; }

 private:
  static bool sh(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }
  std::string runner_, tuner_, cable_;
  bool works_ = false;
};

/// `temper` with arguments in a namespace; the process is temper itself.
std::vector<std::string> inside(const std::string& name, std::vector<std::string> arguments) {
  std::vector<std::string> all{"netns", "exec", name, (kBin / "temper").string()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

fs::path ip_program() {
  for (const char* path : {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"}) {
    if (fs::exists(path)) return path;
  }
  return {};
}

TEST_F(RemoteTuning, WorksBetweenTwoNetworkNamespaces) {
  const fs::path ip = ip_program();
  if (ip.empty()) GTEST_SKIP() << "there is no program ip";
  const Namespaces net;
  if (!net.works()) GTEST_SKIP() << "network namespaces cannot be made here: it takes root and a kernel that allows it";
  Running runner(ip, inside(net.runner(), {"runner", "--listen", Namespaces::address(), "--token-file", "token"}),
                 folder());
  const std::vector<std::string> command{
      "tune",         "--op",  kSpec,   "--trials", "40", "--db", "tmp.db", "--runner", Namespaces::address(),
      "--token-file", "token", "--json"};
  nlohmann::json report;
  {
    std::unique_ptr<Running> tuner;
    for (int attempt = 0; attempt < 100 && measured().empty(); ++attempt) {  // until the runner listens
      tuner = std::make_unique<Running>(ip, inside(net.tuner(), command), folder());
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (is_alive(tuner->pid()) && measured().empty() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_FALSE(measured().empty());
    net.pull_the_cable();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const std::map<std::string, std::int64_t> before = measured();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_EQ(measured().size(), before.size()) << "nothing is recorded while the cable is out";
    net.put_it_back();
    const Outcome outcome = tuner->wait(120);
    ASSERT_EQ(outcome.code, 0) << outcome;
    expect_kept(before, true);
    report = nlohmann::json::parse(outcome.out);
  }
  EXPECT_EQ(report["tasks"][0]["trials"], 40);
  EXPECT_EQ(measured().size(), 40U);
  const Outcome here =
      temper({"tune", "--op", kSpec, "--trials", "1", "--runner", Namespaces::address(), "--token-file", "token"});
  EXPECT_EQ(here.code, 1) << "this namespace has no way there: " << here;
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 130);
}

}  // namespace
}  // namespace temper::e2e
