// Programs and options for tests of this folder.
#pragma once

#include <string>

#include "paths.h"
#include "runner/sample_task.h"
#include "runtime/temporary_folder.h"
#include "temper/measure/measurer.h"

namespace temper::testing {

inline std::string fake_builder() { return std::string(TEMPER_TEST_PROGRAMS) + "/fake_builder"; }
inline std::string real_runner() { return paths::programs() + "/temper-runner"; }

/// Sanitized runners have no limit on their address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kLimitsAddressSpace = false;
#else
inline constexpr bool kLimitsAddressSpace = true;
#endif
inline constexpr std::int64_t kRunnerMemory = std::int64_t{256} << 20;

/// Short limits, a lock of its own, the fake builder.
inline measure::MeasureOptions test_options(const TemporaryFolder& folder) {
  measure::MeasureOptions options;
  options.repeats = 3;
  options.min_sample_seconds = 1e-5;
  options.run_limit_seconds = 20;
  options.build_limit_seconds = 20;
  options.give_up_factor = 0;
  options.stability_tolerance = 1e9;
  options.retakes = 200;  // on a busy machine most samples are disturbed
  options.builders = 2;
  options.runner_memory_limit = kRunnerMemory;
  options.builder = fake_builder();
  options.runner = real_runner();
  options.lock_file = folder / "lock";
  return options;
}

}  // namespace temper::testing
