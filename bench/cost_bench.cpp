// What a candidate costs before it is built: loop program, analysis, features; and what learning costs.
#include <benchmark/benchmark.h>

#include <cmath>

#include "search/toy_space.h"
#include "temper/cost/analytic.h"
#include "temper/cost/knob_screen.h"
#include "temper/cost/model_scorer.h"
#include "temper/cost/pretrained.h"
#include "temper/nest/build.h"
#include "temper/search/enumeration.h"

namespace temper::cost {
namespace {

ir::Compute matmul(std::int64_t size) {
  const ir::Tensor a = ir::placeholder("A", {size, size}), b = ir::placeholder("B", {size, size});
  const ir::Axis k = ir::reduce("k", size);
  const ir::Tensor c = ir::define("C", {size, size},
                                  [&](ir::Axis i, ir::Axis j) { return ir::sum(a(i, k) * b(k, j), {k}); }, {"m", "n"});
  return ir::make_compute({c});
}

schedule::Schedule tiled(const ir::Compute& compute) {
  schedule::Schedule s(compute);
  const auto m = s.split(s.loop("C", "m"), {6}, schedule::Tail::Balance);
  const auto n = s.split(s.loop("C", "n"), {4, 16});
  const auto k = s.split(s.loop("C", "k"), {4});
  s.reorder({m[0], n[0], k[0], k[1], m[1], n[1], n[2]});
  s.vectorize(n[2]);
  for (const schedule::Loop loop : {k[1], m[1], n[1]}) s.unroll(loop);
  return s;
}

void build_program(benchmark::State& state) {
  const schedule::Schedule schedule = tiled(matmul(512));
  for (auto _ : state) benchmark::DoNotOptimize(nest::build(schedule));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(build_program);

void analyse_program(benchmark::State& state) {
  const schedule::Schedule schedule = tiled(matmul(512));
  const nest::Program program = nest::build(schedule);
  const target::Target target = target::detect();
  for (auto _ : state) benchmark::DoNotOptimize(analyse(program, schedule, target, 1));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(analyse_program);

std::vector<search::Candidate> sample(const search::SpaceIndex& index, int count) {
  RandomStream random(1);
  std::vector<search::Candidate> result;
  for (int i = 0; i < count; ++i) result.push_back(index.sample(random));
  return result;
}

/// Training on 200 measurements with as many features as those of an operator, some of which are missing.
void train(benchmark::State& state, const char* learner) {
  constexpr std::size_t kColumns = 130;
  RandomStream random(1);
  TrainingSet samples{FeatureMatrix(kColumns), {}, {}, {}};
  for (int i = 0; i < 200; ++i) {
    std::vector<float> row;
    for (std::size_t c = 0; c < kColumns; ++c)
      row.push_back(c % 8 == 0 && i % 3 == 0 ? kMissing : static_cast<float>(random.uniform_int(0, 20)));
    samples.scores.push_back(row[1] * 0.1 - row[2] * row[3] * 0.01);
    samples.features.append(row);
  }
  for (auto _ : state) {
    const std::unique_ptr<CostModel> model = make_cost_model(learner, {});
    model->update(samples);
  }
}
BENCHMARK_CAPTURE(train, xgboost, "xgboost")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(train, mlp, "mlp")->Unit(benchmark::kMillisecond);

void score(benchmark::State& state) {
  const search::FakeSpace space = search::toy_matmul();
  const search::SpaceIndex index(space);
  std::vector<search::Told> told;
  for (const search::Candidate& candidate : sample(index, 300)) {
    told.push_back({candidate, true, search::toy_seconds(space, candidate)});
  }
  ModelScorer scorer(FeatureExtractor(space), make_cost_model("xgboost", {}));
  scorer.tell(told);
  const std::vector<search::Candidate> asked = sample(index, 256);
  for (auto _ : state) benchmark::DoNotOptimize(scorer.score(asked));
  state.SetItemsProcessed(state.iterations() * 256);
}
BENCHMARK(score);

/// Ranking by knobs alone: candidates are drawn and scored by a screen that learned from 512 scores.
void screen(benchmark::State& state) {
  const search::FakeSpace space = search::toy_matmul();
  const search::SpaceIndex index(space);
  const std::vector<search::Candidate> known = sample(index, 512);
  std::vector<double> scores;
  for (const search::Candidate& candidate : known) scores.push_back(-std::log(search::toy_seconds(space, candidate)));
  KnobScreen screen(space);
  screen.learn(known, scores);
  RandomStream random(2);
  for (auto _ : state) benchmark::DoNotOptimize(screen.score(index.sample(random)));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(screen);

/// All features of a loop program that is there, and the shipped model's prediction from them, 256 at a time.
void features_and_prediction(benchmark::State& state) {
  const PretrainedModel model = PretrainedModel::load(TEMPER_SOURCE_DIR "/data/models/default.model");
  const target::Target target = target::detect();
  const schedule::Schedule schedule = tiled(matmul(512));
  const nest::Program program = nest::build(schedule);
  const search::FakeSpace space = search::toy_matmul();
  const search::Candidate candidate = sample(search::SpaceIndex(space), 1).front();
  std::vector<Fact> facts;
  for (const std::string& column : model.card().columns) {
    if (column.starts_with("fact.")) facts.emplace_back(column.substr(5), 1);
  }
  const FeatureExtractor extractor(space, facts, analytic_features(), analyse(program, schedule, target, 1));
  const ColumnMap columns(model.card().columns, extractor.columns());
  constexpr int kBatch = 256;
  for (auto _ : state) {
    FeatureMatrix rows(model.card().columns.size());
    for (int i = 0; i < kBatch; ++i)
      columns.append(extractor.extract(candidate, analyse(program, schedule, target, 1)), rows);
    benchmark::DoNotOptimize(model.predict(rows));
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(features_and_prediction)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace temper::cost
