// Candidates that crash, hang, write and read past the end, compute wrong numbers and exhaust memory, all of them
// compiled by the shipped builder from a definition and a schedule, and run by the shipped runner. Some faults are in
// the schedule, and the builder leaves the verifier out that would refuse it; some are in the definition. The number of
// candidates is TEMPER_FAULT_CANDIDATES; each hang among them takes a second.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "measure/fixtures.h"
#include "paths.h"
#include "temper/support/random.h"
#include "temper/target/cpu.h"

namespace temper::measure {
namespace {

using record::FailureKind;
using namespace temper::testing;

/// y[i] = 2 * x[i] + 1, and two lists of indices into x: `behind` points just past its end, `wild` at no memory at all.
protocol::SetTask task() {
  protocol::SetTask task = affine_task();
  const auto add_indices = [&](const char* name, std::int64_t first, std::int64_t step) {
    std::vector<std::int64_t> values;
    for (int i = 0; i < kElements; ++i) values.push_back(first + step * i);
    protocol::TaskInput& input = *task.add_inputs();
    input.set_name(name);
    input.set_dtype(TEMPER_I64);
    input.set_bytes(8 * kElements);
    input.set_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])));
  };
  add_indices("behind", kElements + 64, 1);
  add_indices("wild", std::int64_t{1} << 58, 1000);
  return task;
}

/// A random schedule of stage `y`, right for any definition of it.
std::string schedule(RandomStream& random) {
  const std::int64_t block = random.uniform_int(1, 40), lanes = std::int64_t{4} << random.uniform_int(0, 2);
  static constexpr const char* kTails[] = {"peel", "mask", "balance"};
  std::string trace = "split y i " + std::to_string(block) + "x" + std::to_string(lanes) + " mask\n";
  if (random.chance(0.3)) return "split y i " + std::to_string(block) + " " + kTails[random.below(3)] + "\n";
  if (random.chance(0.5)) trace += "parallel y i.0\n";
  if (random.chance(0.8)) trace += "vectorize y i.2\n";
  if (block <= 8 && random.chance(0.5)) trace += "unroll y i.1\n";
  return trace;
}

constexpr const char* kInputs = "placeholder x[i: 1000]: f32\n";
constexpr const char* kIndices = "placeholder x[i: 1000]: f32\nplaceholder INDICES[i: 1000]: i64\n";

std::string gather(const std::string& indices) {
  std::string text = std::string(kIndices) + "stage y[i: 1000]: f32\n  body x[INDICES[i]] * 2.0 + 1.0\noutput y\n";
  for (std::size_t at = 0; (at = text.find("INDICES")) != std::string::npos;) text.replace(at, 7, indices);
  return text;
}

struct Kind {
  const char* name;
  FailureKind failure;
  MeasureInput (*make)(RandomStream& random);
};

const Kind kFaults[] = {
    {"crash", FailureKind::Crash, [](RandomStream& random) { return MeasureInput{gather("wild"), schedule(random)}; }},
    {"hang", FailureKind::RunTimeout,
     [](RandomStream& random) {
       return MeasureInput{std::string(kInputs) +
                               "stage top[i: 1000]: f32\n"
                               "  reducer max associative commutative idempotent identity -inf combine max(#0, #1)\n"
                               "  over [r: 1099511627776]\n  body x[i]\n"
                               "stage y[i: 1000]: f32\n  body top[i] * 2.0 + 1.0\noutput y\n",
                           schedule(random)};
     }},
    {"write past the end", FailureKind::OutOfBounds,
     [](RandomStream& random) {
       // The last block runs on behind the output: rounding up with nobody to refuse it.
       const std::int64_t block = random.chance(0.5) ? 64 : 96;
       return MeasureInput{"stage y[i: 1000]: f32\n  body cast(f32, i) * 0.25 + 1.0\noutput y\n",
                           "split y i " + std::to_string(block) + " round_up\n" +
                               (random.chance(0.5) ? "split y i.1 8 peel\nvectorize y i.1.1\n" : "")};
     }},
    {"read past the end", FailureKind::OutOfBounds,
     [](RandomStream& random) {
       if (random.chance(0.5)) return MeasureInput{gather("behind"), schedule(random)};
       return MeasureInput{std::string(kInputs) + "stage y[i: 1000]: f32\n  body x[i] * 2.0 + 1.0\noutput y\n",
                           "cache_read x y\nsplit x_cache i 128 round_up\n" + schedule(random)};
     }},
    {"wrong numbers", FailureKind::WrongResult,
     [](RandomStream& random) {
       const std::string body =
           random.chance(0.5)
               ? "x[i] * 2.0 + 1.5"
               : "select(i == " + std::to_string(random.uniform_int(0, kElements - 1)) + ", -1.0, x[i] * 2.0 + 1.0)";
       return MeasureInput{std::string(kInputs) + "stage y[i: 1000]: f32\n  body " + body + "\noutput y\n",
                           schedule(random)};
     }},
    {"memory exhaustion", FailureKind::ResourceLimit,
     [](RandomStream& random) {
       // More than the runner may have, or just what it may have and nothing left for itself.
       const std::string elements = std::to_string(random.chance(0.5) ? std::int64_t{4} << 30 : kRunnerMemory / 4 - 64);
       return MeasureInput{std::string(kInputs) + "stage big[j: " + elements +
                               "]: f32\n  body cast(f32, j)\n"
                               "stage y[i: 1000]: f32\n  body x[i] * 2.0 + big[i]\noutput y\n",
                           schedule(random)};
     }},
};
const Kind kGood{"good", FailureKind::None, [](RandomStream& random) {
                   return MeasureInput{
                       std::string(kInputs) + "stage y[i: 1000]: f32\n  body x[i] * 2.0 + 1.0\noutput y\n",
                       schedule(random)};
                 }};

/// Processes whose parent is this one, with the names of their programs.
std::map<pid_t, std::string> children() {
  std::map<pid_t, std::string> result;
  DIR* processes = opendir("/proc");
  while (const dirent* entry = readdir(processes)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t begin = text.find('('), end = text.rfind(')');
    if (end == std::string::npos) continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(text.c_str() + end + 1, " %c %d", &state, &parent) == 2 && parent == getpid())
      result[pid] = text.substr(begin + 1, end - begin - 1);
  }
  closedir(processes);
  return result;
}

TEST(GeneratedFaults, EachIsClassifiedAndNoneIsLost) {
  if (!target::detect().has("avx2") || !target::detect().has("fma"))
    GTEST_SKIP() << "generated code needs AVX2 and FMA";
  if (!kLimitsAddressSpace) GTEST_SKIP() << "sanitized runners have no limit on their memory";
  const char* text = std::getenv("TEMPER_FAULT_CANDIDATES");
  const int count = text == nullptr ? 20 : std::max(10, std::atoi(text));
  // A tenth of each fault, the rest is good.
  RandomStream random(9);
  std::vector<const Kind*> kinds(static_cast<std::size_t>(count), &kGood);
  std::size_t at = 0;
  for (const Kind& fault : kFaults) {
    for (int i = 0; i < count / 10; ++i) kinds[at++] = &fault;
  }
  random.shuffle(kinds);
  std::vector<MeasureInput> inputs;
  for (const Kind* kind : kinds) inputs.push_back(kind->make(random));

  prctl(PR_SET_CHILD_SUBREAPER, 1);  // whoever is orphaned becomes a child of this process
  const std::size_t before = children().size();
  std::map<std::string, int> right;
  {
    const TemporaryFolder folder;
    const SystemClock clock;
    MeasureOptions options = test_options(folder);
    options.builder = paths::programs() + "/temper-builder";
    options.builder_memory_limit = std::int64_t{8} << 30;
    options.run_limit_seconds = 1;
    options.build.add_disabled_passes("verify-nest");
    options.build.add_disabled_passes("verify-kernel");
    Measurer measurer(target::serialise(target::detect()), options, clock);
    measurer.set_task(task());
    constexpr std::size_t kBatch = 64;
    for (std::size_t first = 0; first < inputs.size(); first += kBatch) {
      const std::span<const MeasureInput> batch(inputs.data() + first, std::min(kBatch, inputs.size() - first));
      const std::vector<Measured> results = measurer.measure(batch, {});
      ASSERT_EQ(results.size(), batch.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        const Kind& kind = *kinds[first + i];
        EXPECT_TRUE(results[i].done);
        EXPECT_FALSE(results[i].artifact.empty()) << "the fault is not in code: " << results[i].measurement.reason;
        EXPECT_EQ(results[i].measurement.failure, kind.failure)
            << "candidate " << first + i << " (" << kind.name << "): " << results[i].measurement.reason << "\n"
            << batch[i].compute << batch[i].trace;
        right[kind.name] += results[i].measurement.failure == kind.failure ? 1 : 0;
      }
    }
    EXPECT_GT(children().size(), before) << "builders and runners are children";
  }
  for (const auto& [pid, name] : children())
    EXPECT_EQ(name.find("temper"), std::string::npos) << "left behind: " << pid;
  EXPECT_EQ(children().size(), before);
  for (const auto& [name, number] : right) std::printf("  %4d  %s\n", number, name.c_str());
}

}  // namespace
}  // namespace temper::measure
