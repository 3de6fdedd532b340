// The task of the hand-written kernels: y[i] = 2 * x[i] + 1 over 1000 elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifacts/artifacts.h"
#include "temper/protocol/messages.pb.h"
#include "temper/target/artifact_abi.h"

namespace temper::testing {

inline constexpr int kElements = 1000;

inline std::string text_of(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

inline protocol::SetTask affine_task(std::uint64_t id = 1) {
  std::vector<float> x, y;
  for (int i = 0; i < kElements; ++i) {
    x.push_back(static_cast<float>(i) / 8);
    y.push_back(2 * x.back() + 1);
  }
  protocol::SetTask task;
  task.set_task(id);
  protocol::TaskInput& input = *task.add_inputs();
  input.set_name("x");
  input.set_dtype(TEMPER_F32);
  input.set_bytes(4 * kElements);
  input.set_data(text_of(x));
  protocol::TaskOutput& output = *task.add_outputs();
  output.set_name("y");
  output.set_dtype(TEMPER_F32);
  output.set_bytes(4 * kElements);
  output.set_expected(text_of(y));
  output.set_absolute_tolerance(1e-4);
  return task;
}

/// Checks and times the kernel of that name, shortly.
inline protocol::MeasureRequest request_for(const std::string& kernel, std::uint64_t task = 1) {
  protocol::MeasureRequest request;
  request.set_id(17);
  request.set_task(task);
  request.set_artifact(artifact_text(kernel));
  request.set_check(true);
  protocol::Timing& timing = *request.mutable_timing();
  timing.set_threads(1);
  timing.set_repeats(3);
  timing.set_min_sample_seconds(1e-5);
  timing.set_retakes(200);  // on a busy machine most samples are disturbed
  timing.set_time_limit_seconds(5);
  return request;
}

}  // namespace temper::testing
