// The end of `temper tune MODEL`: the whole model before and after, each of its layouts, and ONNX Runtime, in turn.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "temper/app/model.h"
#include "temper/app/session.h"
#include "temper/store/store.h"
#include "temper/target/cpu.h"

namespace temper::app {

struct WholeModelOptions {
  ModelOptions work;
  bool with_peer = true;  ///< also time ONNX Runtime
  std::uint64_t seed = 0;
  double budget_seconds = 20;  ///< of all samples, unless five rounds take longer
};

/// Times the model with default schedules and estimated layouts, and with tuned kernels in each of the layouts that
/// `tune::ModelLayouts::candidates` gives. Where there is more than one, their times become records of `store`, which
/// decide what build, run, bench and explain use from then on; "tuned" in the report is that one. Throws as
/// `race_models`, and what the store throws.
nlohmann::json race_whole_model(Session& session, const Model& model, store::Store& store, const target::Target& target,
                                const WholeModelOptions& options);

}  // namespace temper::app
