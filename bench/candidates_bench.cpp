// What a candidate costs before it runs: materialised and verified, and compiled to an artifact. Candidates are drawn
// uniformly from the designs of one algorithm, the reference definition's unless named; `median_ms` is the median over
// them, in CPU time of one core.
#include <benchmark/benchmark.h>
#include <time.h>

#include "temper/compile/compile.h"
#include "temper/cost/pretrained.h"
#include "temper/nest/build.h"
#include "temper/peers/interleave.h"
#include "temper/search/enumeration.h"
#include "temper/tune/task_features.h"
#include "temper/tune/task_space.h"

namespace temper {
namespace {

constexpr const char* kGemm = "matmul(m=512,n=512,k=512)";
constexpr const char* kOddGemm = "matmul(m=127,n=509,k=1021)";
constexpr const char* kConv = "conv2d(ic=64,h=56,w=56,oc=64,kh=3,kw=3,pad=1,layout=nhwc)";
constexpr const char* kSmallConv = "conv2d(ic=512,h=7,w=7,oc=512,kh=3,kw=3,pad=1,layout=nhwc)";
constexpr const char* kDepthwise = "conv2d(ic=32,h=112,w=112,oc=32,kh=3,kw=3,pad=1,groups=32,layout=nhwc)";

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// `work` on one drawn candidate an iteration.
template <typename Work>
void each_candidate(benchmark::State& state, const char* spec, const char* algorithm, Work work) {
  const tune::TaskSpace space(tune::task_from_spec(spec, 1), target::detect(), space::builtin_templates());
  const search::SpaceIndex index(space);
  RandomStream random(3);
  std::vector<double> seconds;
  for (auto _ : state) {
    state.PauseTiming();
    search::Candidate candidate = index.sample(random);
    while (tune::algorithm_of(space.designs()[static_cast<std::size_t>(candidate.design)].name) != algorithm)
      candidate = index.sample(random);
    state.ResumeTiming();
    const double start = cpu_seconds();
    work(space, candidate);
    seconds.push_back(cpu_seconds() - start);
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["median_ms"] = peers::median(seconds) * 1e3;
}

void materialise_and_verify(benchmark::State& state, const char* spec, const char* algorithm = "") {
  each_candidate(state, spec, algorithm, [](const tune::TaskSpace& space, const search::Candidate& candidate) {
    const schedule::Schedule schedule = space.materialise(candidate);
    const nest::Program program = nest::build(schedule);
    nest::verify(program, schedule);
    benchmark::DoNotOptimize(program);
  });
}
BENCHMARK_CAPTURE(materialise_and_verify, gemm_512, kGemm);
BENCHMARK_CAPTURE(materialise_and_verify, gemm_prime, kOddGemm);
BENCHMARK_CAPTURE(materialise_and_verify, conv_56, kConv);
BENCHMARK_CAPTURE(materialise_and_verify, conv_56_winograd2, kConv, "winograd2");
BENCHMARK_CAPTURE(materialise_and_verify, conv_56_winograd4, kConv, "winograd4");
BENCHMARK_CAPTURE(materialise_and_verify, conv_7, kSmallConv);
BENCHMARK_CAPTURE(materialise_and_verify, conv_7_winograd2, kSmallConv, "winograd2");
BENCHMARK_CAPTURE(materialise_and_verify, conv_7_winograd4, kSmallConv, "winograd4");
BENCHMARK_CAPTURE(materialise_and_verify, depthwise_112, kDepthwise);

/// Features and the shipped model's prediction of candidates whose loop programs are there, 64 at a time.
void features_and_prediction(benchmark::State& state, const char* spec) {
  const target::Target target = target::detect();
  const tune::Task task = tune::task_from_spec(spec, 1);
  const tune::TaskSpace space(task, target, space::builtin_templates());
  const search::SpaceIndex index(space);
  const cost::PretrainedModel model = cost::PretrainedModel::load(TEMPER_SOURCE_DIR "/data/models/default.model");
  const cost::FeatureExtractor extractor = tune::task_extractor(space, task, target);
  const cost::ColumnMap columns(model.card().columns, extractor.columns());
  struct Ready {
    search::Candidate candidate;
    schedule::Schedule schedule;
    nest::Program program;
  };
  constexpr std::size_t kBatch = 64;
  RandomStream random(3);
  std::vector<Ready> ready;
  while (ready.size() < kBatch) {
    const search::Candidate candidate = index.sample(random);
    const schedule::Schedule schedule = space.materialise(candidate);
    ready.push_back({candidate, schedule, nest::build(schedule)});
  }
  for (auto _ : state) {
    cost::FeatureMatrix rows(model.card().columns.size());
    for (const Ready& one : ready)
      columns.append(extractor.extract(one.candidate, cost::analyse(one.program, one.schedule, target, 1)), rows);
    benchmark::DoNotOptimize(model.predict(rows));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kBatch));
}
BENCHMARK_CAPTURE(features_and_prediction, gemm_512, kGemm)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(features_and_prediction, conv_56, kConv)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(features_and_prediction, depthwise_112, kDepthwise)->Unit(benchmark::kMillisecond);

void compile(benchmark::State& state, const char* spec, const char* algorithm = "") {
  compile::Compiler compiler(target::detect());
  each_candidate(state, spec, algorithm, [&](const tune::TaskSpace& space, const search::Candidate& candidate) {
    benchmark::DoNotOptimize(compiler.compile(space.materialise(candidate), {}));
  });
}
BENCHMARK_CAPTURE(compile, gemm_512, kGemm)->Iterations(200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile, gemm_prime, kOddGemm)->Iterations(200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile, conv_56, kConv)->Iterations(200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile, conv_56_winograd2, kConv, "winograd2")->Iterations(200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile, conv_56_winograd4, kConv, "winograd4")->Iterations(200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile, conv_7, kSmallConv)->Iterations(200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile, conv_7_winograd2, kSmallConv, "winograd2")->Iterations(200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile, conv_7_winograd4, kSmallConv, "winograd4")->Iterations(200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile, depthwise_112, kDepthwise)->Iterations(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace temper
