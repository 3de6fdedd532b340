// How fast constrained spaces are handled without rejection, beside filtering the Cartesian product. Each space is
// taken three times: `filter` tries every combination and keeps what holds; `index` builds the decision diagram, after
// which the space is counted and can be sampled and walked; `list` builds it and writes all valid choices out. The
// ratio of their times, in one run, is the figure; combinations that are too many to try are tried in part, evenly
// spread, and `whole_ms` says what all of them would take.
#include <benchmark/benchmark.h>

#include <chrono>
#include <map>

#include "temper/search/enumeration.h"
#include "temper/space/recorded/description.h"

namespace temper::space::recorded {
namespace {

/// Nine knobs of ten values, tied as tuning parameters are: products that must fit, divisors, and one product over six.
constexpr const char* kSynthetic = R"T1({"ConfigurationSpace": {"TuningParameters": [
  {"Name": "tile_m", "Values": "[2 ** i for i in range(10)]"}, {"Name": "tile_n", "Values": "[2 ** i for i in range(10)]"},
  {"Name": "tile_k", "Values": "[2 ** i for i in range(10)]"}, {"Name": "unit_m", "Values": "[2 ** i for i in range(10)]"},
  {"Name": "unit_n", "Values": "[2 ** i for i in range(10)]"}, {"Name": "unit_k", "Values": "[2 ** i for i in range(10)]"},
  {"Name": "threads", "Values": "[2 ** i for i in range(10)]"}, {"Name": "depth", "Values": "range(1, 11)"},
  {"Name": "order", "Values": "range(10)"}], "Conditions": [
  {"Expression": "tile_m % unit_m == 0 and tile_n % unit_n == 0 and tile_k % unit_k == 0"},
  {"Expression": "64 <= unit_m * unit_n * unit_k <= 128"},
  {"Expression": "(tile_m * tile_k + tile_k * tile_n) * depth <= 2048"},
  {"Expression": "tile_m * tile_n == threads * unit_m * unit_n"},
  {"Expression": "order % 2 == 0"}]}})T1";

Description description(const std::string& name) {
  if (name == "synthetic") return read_description(parse_json(kSynthetic, name).root, name);
  const std::string path = std::string(TEMPER_SOURCE_DIR) + "/tests/data/recorded_spaces/" + name + "_T1.json";
  return read_description(parse_json(read_unpacked(path), path).root, path);
}

const search::Design& design(const std::string& name) {
  static std::map<std::string, DescribedSpace> spaces;
  return spaces.try_emplace(name, description(name)).first->second.designs().front();
}

/// Tries every `stride`th combination in order and returns the valid ones, row after row.
std::vector<std::int32_t> filter(const search::Design& d, std::uint64_t combinations, std::uint64_t stride) {
  std::vector<std::vector<std::size_t>> arguments;
  for (const search::Constraint& constraint : d.constraints) {
    arguments.emplace_back();
    for (const std::string& knob : constraint.knobs) {
      arguments.back().push_back(static_cast<std::size_t>(search::knob_index(d, knob)));
    }
  }
  std::vector<std::int32_t> rows, choice(d.knobs.size());
  std::vector<std::int64_t> values;
  for (std::uint64_t number = 0; number < combinations; number += stride) {
    // As an odometer, which costs less than dividing the number anew: the stride is carried from knob to knob.
    std::uint64_t carry = number == 0 ? 0 : stride;
    for (std::size_t k = choice.size(); carry > 0 && k-- > 0;) {
      const std::uint64_t digit = static_cast<std::uint64_t>(choice[k]) + carry;
      choice[k] = static_cast<std::int32_t>(digit % d.knobs[k].values.size());
      carry = digit / d.knobs[k].values.size();
    }
    bool valid = true;
    for (std::size_t c = 0; valid && c < arguments.size(); ++c) {
      values.clear();
      for (const std::size_t k : arguments[c]) values.push_back(d.knobs[k].values[static_cast<std::size_t>(choice[k])]);
      valid = d.constraints[c].holds(values);
    }
    if (valid) rows.insert(rows.end(), choice.begin(), choice.end());
  }
  return rows;
}

std::uint64_t combinations_of(const search::Design& d) {
  std::uint64_t combinations = 1;
  for (const search::Knob& knob : d.knobs) combinations *= knob.values.size();
  return combinations;
}

void filtered(benchmark::State& state, const std::string& name) {
  const search::Design& d = design(name);
  const std::uint64_t combinations = combinations_of(d);
  // An odd stride meets all values of all knobs.
  const std::uint64_t stride = combinations > 10'000'000 ? 1999 : 1;
  const auto started = std::chrono::steady_clock::now();
  std::size_t rows = 0;
  for (auto _ : state) rows = filter(d, combinations, stride).size() / d.knobs.size();
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - started;
  state.counters["combinations"] = static_cast<double>(combinations);
  state.counters["valid_estimate"] = static_cast<double>(rows * stride);
  state.counters["whole_ms"] = spent.count() / static_cast<double>(state.iterations()) * static_cast<double>(stride);
}

void indexed(benchmark::State& state, const std::string& name) {
  const search::Design& d = design(name);
  for (auto _ : state) {
    const search::DecisionDiagram diagram(d);
    state.counters["valid"] = static_cast<double>(diagram.size());
  }
}

void listed(benchmark::State& state, const std::string& name) {
  const search::Design& d = design(name);
  for (auto _ : state) {
    const search::DecisionDiagram diagram(d);
    benchmark::DoNotOptimize(diagram.list());
  }
}

void sampled(benchmark::State& state, const std::string& name) {
  const search::DecisionDiagram diagram(design(name));
  RandomStream random(1);
  for (auto _ : state) benchmark::DoNotOptimize(diagram.at(random.below(diagram.size())));
}

#define SPACE(name)                                                        \
  BENCHMARK_CAPTURE(filtered, name, #name)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(indexed, name, #name)->Unit(benchmark::kMillisecond);  \
  BENCHMARK_CAPTURE(listed, name, #name)->Unit(benchmark::kMillisecond);   \
  BENCHMARK_CAPTURE(sampled, name, #name)
SPACE(pnpoly);
SPACE(convolution);
SPACE(dedispersion);
SPACE(gemm);
SPACE(synthetic);

}  // namespace
}  // namespace temper::space::recorded
