#include "temper/app/model_race.h"

#include <algorithm>
#include <utility>

#include "temper/app/exclusive.h"
#include "temper/peers/peer.h"
#include "temper/runtime/thread_pool.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"

namespace temper::app {

namespace {

/// A peer with the model loaded; every plan's outputs are compared with its own on `options.checks` inputs.
peers::Peer checked_peer(const std::string& name, const peers::PeerWork& work, const RaceOptions& options,
                         const std::vector<std::unique_ptr<Inference>>& models, ModelTimes& out) {
  peers::PeerOptions peer_options = peers::PeerOptions::defaults();
  peer_options.threads = options.threads;
  peers::Peer peer(name, peer_options);
  std::vector<double> worst(models.size(), 0.0);
  for (int check = options.checks; check-- > 0;) {
    options.cancellation.throw_if_requested();
    for (const auto& model : models) model->fill_random(options.seed + static_cast<std::uint64_t>(check));
    peer.prepare(work, models.front()->peer_inputs());
    peer.run(1, 0);
    const std::vector<peers::Tensor> expected = peer.outputs();
    for (std::size_t i = 0; i < models.size(); ++i) {
      models[i]->run();
      worst[i] = std::max(worst[i], largest_difference(*models[i], expected));
    }
  }
  out.checked_inputs = options.checks;
  out.max_error.resize(models.size(), 0.0);
  for (std::size_t i = 0; i < worst.size(); ++i) out.max_error[i] = std::max(out.max_error[i], worst[i]);
  return peer;
}

}  // namespace

ModelTimes race_models(const std::vector<NamedPlan>& plans, const peers::PeerWork& work, const RaceOptions& options) {
  ModelTimes out;
  std::vector<int> cores = runtime::allowed_cpus();
  const bool are_pinned = std::cmp_less_equal(options.threads, cores.size());
  cores.resize(are_pinned ? static_cast<std::size_t>(options.threads) : 0);
  std::vector<std::unique_ptr<Inference>> models;
  for (const NamedPlan& plan : plans) {
    models.push_back(std::make_unique<Inference>(plan.plan, options.threads, false, cores));
    models.back()->fill_random(options.seed);
  }
  std::vector<std::optional<peers::Peer>> started;
  for (const std::string& name : options.peers) {
    out.peers.push_back({name, {}, {}, {}});
    try {
      started.push_back(checked_peer(name, work, options, models, out));
      out.peers.back().version = started.back()->version();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Cancelled) throw;
      out.peers.back().error = error.what();
      started.emplace_back();
    }
  }
  const SystemClock clock;
  std::vector<peers::Side> sides;
  for (std::size_t i = 0; i < models.size(); ++i)
    sides.push_back(peers::side_of(plans[i].name, [model = models[i].get()] { model->run(); }, clock));
  for (std::optional<peers::Peer>& peer : started) {
    if (peer) sides.push_back(peers::side_of(*peer));
  }
  peers::InterleaveOptions interleave;
  interleave.rounds = options.rounds;
  interleave.sample_seconds = 10e-3;
  interleave.budget_seconds = options.budget_seconds;
  interleave.seed = options.seed;
  interleave.cancellation = options.cancellation;
  {
    std::optional<runtime::PinnedThread> pinned;
    if (are_pinned) pinned.emplace(cores.front());
    out.sides = interleave_alone(sides, interleave);
  }
  std::size_t side = models.size();
  for (std::size_t i = 0; i < started.size(); ++i) {
    if (started[i]) out.peers[i].times = std::move(out.sides[side++]);
  }
  out.sides.resize(models.size());
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
