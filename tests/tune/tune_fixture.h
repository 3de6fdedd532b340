// A task with a table of times instead of hardware, tuned into a store in memory.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fake_hardware.h"
#include "sample_task.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/clock.h"
#include "temper/tune/tune.h"

namespace temper::tune::testing {

inline std::int64_t knob(const record::CandidateRecord& candidate, const std::string& name) {
  for (const auto& [knob_name, value] : candidate.knobs) {
    if (knob_name == name) return value;
  }
  return 0;
}

/// Fastest at m = 4, n = 8, k = 2; the default (1, 1, 1) is slow.
inline Fate landscape(const record::CandidateRecord& c) {
  const auto far = [&](const char* name, std::int64_t best) {
    return std::abs(std::log2(static_cast<double>(knob(c, name))) - std::log2(static_cast<double>(best)));
  };
  return {.seconds = 1e-3 * (1 + far("m", 4) + far("n", 8) + 0.3 * far("k", 2))};
}

class TuneTest : public ::testing::Test {
 protected:
  explicit TuneTest() { use(landscape); }

  void use(Table table) {
    hardware_ = std::make_unique<FakeHardware>(task_.compute, std::move(table));
    hardware_->clock = &clock_;
  }
  Options options() {
    Options options;
    options.templates = templates_;
    options.target = sample_target();
    options.hardware = hardware_.get();
    options.clock = &clock_;
    options.store = store_.get();
    options.batch = 8;
    options.trials = 24;
    return options;
  }
  Report run(const Options& options) { return tune(std::span(&task_, 1), options); }
  std::vector<record::Record> stored() const { return store_->all(task_.key, target::fingerprint(sample_target())); }

  Task task_ = sample_task();
  std::vector<space::Template> templates_ = sample_templates();
  ManualClock clock_;
  std::unique_ptr<store::Store> store_ = store::open_in_memory();
  std::unique_ptr<FakeHardware> hardware_;
};

}  // namespace temper::tune::testing
