// Alternative algorithms on the machine: each candidate's outputs against the reference's, at every element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "paths.h"
#include "temper/nest/build.h"
#include "temper/schedule/trace.h"
#include "temper/search/enumeration.h"
#include "temper/store/sqlite_store.h"
#include "temper/tune/processes.h"
#include "temper/tune/reference.h"
#include "temper/tune/task_space.h"
#include "temper/tune/tune.h"

namespace temper::tune {
namespace {

class Alternatives : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!target_.has("avx2") || !target_.has("fma")) GTEST_SKIP() << "code is generated for AVX2 and FMA";
    hardware_ = start_processes(target_, 1, options_.cancellation, clock_, paths::programs());
  }

  std::map<std::string, std::string> outputs(const TaskSpace& space, const search::Candidate& candidate) {
    const BuildJob job{space.compute_text(candidate), schedule::print(space.materialise(candidate).trace()),
                       search::to_record(space, candidate).text()};
    const std::vector<BuildResult> built = hardware_->build({&job, 1});
    EXPECT_TRUE(built.front().ok()) << built.front().reason;
    const RunOnce once = hardware_->run_once(built.front().artifact);
    EXPECT_TRUE(once.ok()) << once.reason << " " << search::to_record(space, candidate).text();
    return once.outputs;
  }

  target::Target target_ = target::detect();
  SystemClock clock_;
  Options options_;
  std::unique_ptr<HardwareTest> hardware_;
};

TEST_F(Alternatives, OutputsAreWithinTheLimitOfTheReference) {
  RandomStream random(5);
  for (const char* spec : {"conv2d(ic=16,h=14,w=14,oc=16,kh=3,kw=3,pad=1,layout=nhwc)",
                           "conv2d(ic=17,h=9,w=13,oc=41,kh=3,kw=3,pad=1,layout=nhwc,epilogue=bias+relu)",
                           "conv2d(n=2,ic=9,h=11,w=6,oc=19,kh=3,kw=3,layout=nchw,epilogue=bias+add+relu)",
                           "conv2d(ic=40,h=7,w=23,oc=24,kh=3,kw=3,pad=1:0:2:1,layout=nchw)"}) {
    const Task task = task_from_spec(spec, 1);
    const TaskSpace space(task, target_, space::builtin_templates());
    Reference reference(task.compute, task.tolerance_factor, 1);
    hardware_->set_task(reference.data(), std::nullopt);
    const auto wanted = outputs(space, space.default_candidate());
    ASSERT_EQ(reference.establish(wanted), std::nullopt) << spec;
    const search::SpaceIndex index(space);
    int checked = 0;
    for (int design = 0; design < index.designs(); ++design) {
      if (algorithm_of(space.designs()[static_cast<std::size_t>(design)].name).empty()) continue;
      std::uint64_t first = 0;
      for (int before = 0; before < design; ++before) first += index.size(before);
      for (int i = 0; i < 3; ++i) {
        const search::Candidate candidate = index.at(first + random.below(index.size(design)));
        const auto got = outputs(space, candidate);
        for (const auto& [name, bytes] : wanted) {
          ASSERT_EQ(got.at(name).size(), bytes.size());
          double largest = 0, error = 0;
          for (std::size_t e = 0; e < bytes.size() / sizeof(float); ++e) {
            const double exact = element(bytes, ir::DType::F32, static_cast<std::int64_t>(e));
            const double value = element(got.at(name), ir::DType::F32, static_cast<std::int64_t>(e));
            largest = std::max(largest, std::abs(exact));
            error = std::isfinite(value) ? std::max(error, std::abs(value - exact)) : INFINITY;
          }
          EXPECT_LE(error, kMaxError * largest) << spec << " " << search::to_record(space, candidate).text();
        }
        ++checked;
      }
    }
    EXPECT_EQ(checked, 6) << spec;
  }
}

TEST_F(Alternatives, ThoseBeyondTheLimitAreRecordedWithTheirErrorAndNotUsed) {
  const Task task = task_from_spec("conv2d(ic=16,h=6,w=6,oc=16,kh=3,kw=3,pad=1,layout=nhwc)", 1);
  // One design of each definition, drawn as often as the others.
  std::vector<space::Template> templates;
  for (const space::Template& candidate : space::builtin_templates()) {
    if (candidate.name == "tiles" || candidate.fallback) templates.push_back(candidate);
  }
  options_.templates = templates;
  options_.measure_random = true;
  const auto store = store::open_in_memory();
  options_.hardware = hardware_.get();
  options_.target = target_;
  options_.store = store.get();
  options_.strategy = "random";
  options_.trials = kRandomSample + 1;
  options_.max_error = 1e-12;
  const Report report = tune(std::span(&task, 1), options_);
  EXPECT_GT(report.tasks.front().failures.count("max_error"), 0U);
  EXPECT_EQ(algorithm_of(report.tasks.front().best_candidate), "");
  for (const record::Record& record : store->all(task.key, target::fingerprint(target_))) {
    if (!record.measurement.ok() || algorithm_of(record.candidate.design).empty()) continue;
    EXPECT_GT(record.measurement.max_error, 1e-9) << "rounding cannot be that of the reference";
    EXPECT_LT(record.measurement.max_error, kMaxError);
  }
}

TEST(TaskSpace, WithoutAlternativesOnlyTheReferenceIsLeft) {
  const Task task = task_from_spec("conv2d(ic=32,h=12,w=12,oc=32,kh=3,kw=3,pad=1)", 1);
  target::Target target;
  target.vector_bytes = 32;
  target.vector_registers = 16;
  const auto count = [&](TaskSpace::Algorithms algorithms) {
    const TaskSpace space(task, target, space::builtin_templates(), algorithms);
    std::map<std::string, int> designs;
    for (const search::Design& design : space.designs()) ++designs[std::string(algorithm_of(design.name))];
    return designs;
  };
  const auto all = count(TaskSpace::Algorithms::All);
  EXPECT_EQ(all.at("winograd2"), 1) << "the template that schedules anything is no reason for an alternative";
  EXPECT_EQ(all.at("winograd4"), 1);
  EXPECT_EQ(count(TaskSpace::Algorithms::Reference).size(), 1U);
}

}  // namespace
}  // namespace temper::tune
