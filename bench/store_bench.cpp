// How fast the database is: look-ups by task and target, the nearest tasks, counting and appending, in a file with many
// records. Prints the median and the 99th percentile of single calls, wall-clock and CPU time.
//
//   store_bench [--records 1000000] [--file FILE]
//
// Fills a file of its own (1,000 records a task; 1,000,000 take some 20 seconds, 10,000,000 some minutes and 2.3 GB),
// or uses FILE, which is filled up and kept.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::store {
namespace {

constexpr int kRecordsPerTask = 1000, kBatch = 1000, kTunerBatch = 16;
constexpr int kLookUps = 20'000, kSlowLookUps = 50;
const std::string kTarget = "zen5-f26m2-v64-l1d48k-l21024k-l332768k-e2d29134";

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Of this thread: what a call takes on a machine that does nothing else.
double cpu_now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Keys as convolutions have them; every number another one, neighbours alike.
TaskKey task(std::int64_t number) {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  return {"conv2d",
          {{"n", "1"},
           {"ic", text(8 * (1 + number % 32))},
           {"h", text(7 * (1 + number / 32 % 16))},
           {"w", text(7 * (1 + number / 32 % 16))},
           {"oc", text(8 * (1 + number / 512))},
           {"kh", "3"},
           {"kw", "3"},
           {"stride", "1"},
           {"pad", "1"},
           {"groups", "1"},
           {"dtype", "f32"},
           {"layout", "nhwc"},
           {"epilogue", "bias+relu"},
           {"threads", "1"}}};
}

/// One record in 20 failed; the first of a task is its default's.
Record record_of(const TaskKey& key, int candidate, RandomStream& random) {
  Record r;
  r.task = key;
  r.definition_hash = 0x5eed;
  r.target = kTarget;
  r.temper_version = "0.1.0";
  r.candidate = {"packed",
                 {{"mr", 1 + candidate % 14},
                  {"nr", 16 * (1 + candidate / 14 % 4)},
                  {"kc", 32 << (candidate / 56 % 4)},
                  {"unroll", 1 << (candidate / 224 % 3)},
                  {"order", candidate / 672}}};
  if (candidate % 20 == 19) {
    r.measurement.failure = record::FailureKind::ResourceLimit;
    r.measurement.reason = "the accumulators take 36 of 32 vector registers";
  } else {
    r.measurement.min_seconds = 1e-3 * (1 + random.uniform_real());
    r.measurement.median_seconds = r.measurement.min_seconds * 1.02;
    r.measurement.repeats = 5;
    r.measurement.number = 10;
  }
  r.measurement.build_seconds = 0.02;
  r.measurement.run_seconds = 0.05;
  r.strategy = candidate == 0 ? "default" : "evolutionary";
  r.seed = 1;
  r.created_unix_ms = 1'700'000'000'000;
  if (candidate < 4) r.trace = std::string(3000, 't');
  return r;
}

/// Fills up to `records`; returns records a second, 0 when there was nothing to do.
double fill(Store& store, std::int64_t records) {
  RandomStream random(1);
  const std::int64_t there = store.stats().records;
  const double start = now();
  for (std::int64_t number = there / kRecordsPerTask; number < records / kRecordsPerTask; ++number) {
    std::vector<Record> batch;
    const TaskKey key = task(number);
    for (int i = 0; i < kBatch; ++i) batch.push_back(record_of(key, i, random));
    store.append(batch);
  }
  return records > there ? static_cast<double>(records - there) / (now() - start) : 0;
}

/// Times single calls and prints what they take.
void time_calls(std::string_view what, int calls, const std::function<void(std::int64_t)>& call, std::int64_t tasks) {
  RandomStream random(7);
  std::vector<double> seconds, cpu;
  for (int i = 0; i < calls; ++i) {
    const auto number = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(tasks)));
    const double start = now(), cpu_start = cpu_now();
    call(number);
    seconds.push_back(now() - start);
    cpu.push_back(cpu_now() - cpu_start);
  }
  std::ranges::sort(seconds);
  std::ranges::sort(cpu);
  const auto at = [](const std::vector<double>& sorted, double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))] * 1e6;
  };
  fmt::print("{:<44} {:>12.1f} {:>12.1f} {:>12.1f} {:>12.1f}  {:>6}\n", what, at(seconds, 0.5), at(seconds, 0.99),
             at(cpu, 0.5), at(cpu, 0.99), calls);
}

void measure(Store& store, std::int64_t records) {
  const std::int64_t tasks = records / kRecordsPerTask;
  fmt::print("{:<44} {:>12} {:>12} {:>12} {:>12}  {:>6}\n", "microseconds", "median", "99%", "CPU median", "CPU 99%",
             "calls");
  const auto hit = [&](std::size_t found) { TEMPER_CHECK(found > 0, "a record that was stored is not found"); };
  time_calls(
      "best by task and target", kLookUps, [&](std::int64_t n) { hit(store.best(task(n), kTarget, 1).size()); }, tasks);
  time_calls("best 16", kLookUps, [&](std::int64_t n) { hit(store.best(task(n), kTarget, 16).size()); }, tasks);
  time_calls(
      "default of a task", kLookUps, [&](std::int64_t n) { hit(store.defaults(task(n), kTarget).size()); }, tasks);
  time_calls(
      "miss: a task that is not there", kLookUps,
      [&](std::int64_t n) { TEMPER_CHECK(store.best(task(n), "other", 1).empty(), "found on another target"); }, tasks);
  time_calls(
      "all records of a task", kSlowLookUps, [&](std::int64_t n) { hit(store.all(task(n), kTarget).size()); }, tasks);
  time_calls(
      "what came since, of a task", kSlowLookUps, [&](std::int64_t n) { store.newer(task(n), kTarget, records - 1); },
      tasks);
  time_calls(
      "nearest 6 tasks", kSlowLookUps, [&](std::int64_t n) { hit(store.nearest_tasks(task(n), 6, kTarget).size()); },
      tasks);
  RandomStream random(3);
  int fresh = 100'000;
  time_calls(
      "append a batch of 16 (synchronised)", kSlowLookUps,
      [&](std::int64_t n) {
        std::vector<Record> batch;
        for (int i = 0; i < kTunerBatch; ++i) batch.push_back(record_of(task(n), fresh++, random));
        store.append(batch);
      },
      tasks);
  const double start = now();
  const StoreStats stats = store.stats();
  fmt::print("counting everything: {:.2f} s; {} records, {:.0f} MB\n", now() - start, stats.records,
             static_cast<double>(stats.bytes) * 1e-6);
}

int run(int argc, char** argv) {
  std::int64_t records = 1'000'000;
  std::filesystem::path file;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    bool good = i + 1 < argc;
    if (option == "--records") {
      const auto read = std::from_chars(value.data(), value.data() + value.size(), records);
      good = good && read.ec == std::errc{} && records >= kRecordsPerTask;
    } else if (option == "--file") {
      file = value;
    } else {
      good = false;
    }
    if (!good) {
      fmt::print(stderr, "usage: store_bench [--records N, at least {}] [--file FILE]\n", kRecordsPerTask);
      return 2;
    }
    ++i;
  }
  const bool temporary = file.empty();
  if (temporary) file = std::filesystem::temp_directory_path() / fmt::format("temper-store-bench-{}.db", getpid());
  {
    const auto store = open_sqlite(file, OpenMode::Create);
    const double speed = fill(*store, records);
    if (speed > 0) fmt::print("filled at {:.0f} records a second, {} a transaction\n", speed, kBatch);
  }
  {
    const double start = now();
    const auto store = open_sqlite(file, OpenMode::ReadWrite);
    store->best(task(0), kTarget, 1);
    fmt::print("opening and the first look-up: {:.1f} ms\n", (now() - start) * 1e3);
    measure(*store, records);
  }
  if (temporary) {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + suffix);
  }
  return 0;
}

}  // namespace
}  // namespace temper::store

int main(int argc, char** argv) {
  try {
    return temper::store::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "store_bench: {}\n", error.what());
    return 1;
  }
}
