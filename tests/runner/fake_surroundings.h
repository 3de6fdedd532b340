// Surroundings that are as a test says; quiet unless told otherwise.
#pragma once

#include <functional>

#include "temper/runner/surroundings.h"

namespace temper::runner::testing {

class FakeSurroundings final : public Surroundings {
 public:
  double probe() override {
    ++probes;
    return probe_seconds ? probe_seconds() : 1e-6;
  }
  Usage usage() override { return used; }
  void pause() override {
    ++pauses;
    if (paused) paused();
  }

  std::function<double()> probe_seconds;
  std::function<void()> paused;
  Usage used;
  int probes = 0, pauses = 0;
};

}  // namespace temper::runner::testing
