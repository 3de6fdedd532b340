#include "temper/app/model_race.h"

#include <algorithm>

#include "temper/app/exclusive.h"
#include "temper/peers/child_process.h"
#include "temper/peers/peer.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"

namespace temper::app {

ModelTimes race_models(const std::vector<NamedPlan>& plans, const std::string& model_path, const RaceOptions& options) {
  ModelTimes out;
  std::vector<std::unique_ptr<Inference>> models;
  for (const NamedPlan& plan : plans) {
    models.push_back(std::make_unique<Inference>(plan.plan, options.threads));
    models.back()->fill_random(options.seed);
  }
  std::optional<peers::Peer> peer;
  if (options.peer) {
    try {
      peers::PeerOptions peer_options = peers::PeerOptions::defaults();
      peer_options.threads = options.threads;
      peer.emplace("onnxruntime", peer_options);
      peers::PeerWork work;
      work.op = "model";
      work.model_path = model_path;
      out.max_error.assign(plans.size(), 0);
      for (int check = options.checks; check-- > 0;) {
        options.cancellation.throw_if_requested();
        for (auto& model : models) model->fill_random(options.seed + static_cast<std::uint64_t>(check));
        peer->prepare(work, models.front()->peer_inputs());
        peer->run(1, 0);
        const std::vector<peers::Tensor> expected = peer->outputs();
        for (std::size_t i = 0; i < models.size(); ++i) {
          models[i]->run();
          out.max_error[i] = std::max(out.max_error[i], largest_difference(*models[i], expected));
        }
      }
      out.checked_inputs = options.checks;
      out.onnxruntime_version = peer->version();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Cancelled) throw;
      out.onnxruntime_error = error.what();
      out.max_error.clear();
      peer.reset();
    }
  }
  const SystemClock clock;
  std::vector<peers::Side> sides;
  for (std::size_t i = 0; i < models.size(); ++i)
    sides.push_back(peers::side_of(plans[i].name, [model = models[i].get()] { model->run(); }, clock));
  if (peer) sides.push_back(peers::side_of(*peer));
  peers::InterleaveOptions interleave;
  interleave.rounds = options.rounds;
  interleave.sample_seconds = 10e-3;
  interleave.budget_seconds = options.budget_seconds;
  interleave.seed = options.seed;
  interleave.cancellation = options.cancellation;
  out.sides = interleave_alone(sides, interleave);
  return out;
}

bool loses(const peers::SideTimes& tuned, const peers::SideTimes& untuned) {
  constexpr double kChance = 0.01;
  TEMPER_CHECK(tuned.samples.size() == untuned.samples.size(), "sides of two races");
  std::vector<double> rounds;
  for (std::size_t i = 0; i < tuned.samples.size(); ++i) rounds.push_back(untuned.samples[i] / tuned.samples[i]);
  return untuned.min_seconds / tuned.min_seconds < 1 - kChance && peers::median(rounds) < 1 - kChance;
}

bool same_kernels(const runtime::Plan& a, const runtime::Plan& b) {
  return std::ranges::equal(a.artifacts, b.artifacts, [](const runtime::Bytes& x, const runtime::Bytes& y) {
    return std::ranges::equal(x.span(), y.span());
  });
}

}  // namespace temper::app
