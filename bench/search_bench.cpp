// How fast a constrained space is numbered, sampled and searched.
#include <benchmark/benchmark.h>

#include "search/toy_space.h"
#include "temper/search/enumeration.h"
#include "temper/search/strategy.h"

namespace temper::search {
namespace {

/// Four groups of three tied knobs and two free knobs: more than 10^11 valid candidates.
FakeSpace wide_space() {
  Design design{"wide", {}, {}};
  for (int group = 0; group < 4; ++group) {
    std::vector<std::string> names;
    for (const char* knob : {"a", "b", "c"}) {
      names.push_back(knob + std::to_string(group));
      design.knobs.push_back({names.back(), range(1, 16)});
    }
    design.constraints.push_back(
        {"area", names, [](std::span<const std::int64_t> v) { return v[0] * v[1] + v[2] <= 40; }});
  }
  design.knobs.push_back({"x", range(1, 10)});
  design.knobs.push_back({"y", range(1, 10)});
  return FakeSpace({std::move(design)});
}

void build_index(benchmark::State& state) {
  const FakeSpace space = state.range(0) == 0 ? toy_matmul() : wide_space();
  for (auto _ : state) {
    const SpaceIndex index(space);
    state.counters["candidates"] = static_cast<double>(index.size());
  }
}
BENCHMARK(build_index)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void sample(benchmark::State& state) {
  const FakeSpace space = state.range(0) == 0 ? toy_matmul() : wide_space();
  const SpaceIndex index(space);
  RandomStream random(1);
  for (auto _ : state) benchmark::DoNotOptimize(index.sample(random));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(sample)->Arg(0)->Arg(1);

void mutate(benchmark::State& state) {
  const FakeSpace space = toy_matmul();
  const SpaceIndex index(space);
  RandomStream random(1);
  Candidate candidate = index.sample(random);
  for (auto _ : state) candidate = index.mutate(candidate, 2, random);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(mutate);

/// A batch of 16 of the default strategy, without the time of a scorer.
void ask(benchmark::State& state) {
  class Cheap : public Scorer {
   public:
    std::vector<double> score(std::span<const Candidate> candidates) override {
      std::vector<double> result;
      for (const Candidate& candidate : candidates) result.push_back(static_cast<double>(candidate.hash() >> 11));
      return result;
    }
  } scorer;
  const FakeSpace space = toy_matmul();
  const SpaceIndex index(space);
  const std::unique_ptr<Strategy> strategy =
      make_strategy(kDefaultStrategy, {.space = &space, .index = &index, .scorer = &scorer, .seed = 1});
  for (auto _ : state) {
    std::vector<Told> told;
    for (Candidate& candidate : strategy->ask(16)) {
      const double seconds = toy_seconds(space, candidate);
      told.push_back({std::move(candidate), true, seconds});
    }
    strategy->tell(told);
  }
}
BENCHMARK(ask)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace temper::search
