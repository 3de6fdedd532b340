// What every strategy shares: what was proposed and measured, the promise of valid and new candidates, and an unbiased
// stream of unseen candidates that ends exactly when the space is exhausted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "temper/search/ranking.h"
#include "temper/search/strategy.h"

namespace temper::search {

/// The numbers 0..size-1 in uniformly random order, in memory proportional to the numbers drawn (a sparse
/// Fisher-Yates).
class RandomOrder {
 public:
  explicit RandomOrder(std::uint64_t size) : left_(size) {}
  bool empty() const { return left_ == 0; }
  /// Requires !empty().
  std::uint64_t next(RandomStream& random);

 private:
  std::uint64_t left_;
  std::unordered_map<std::uint64_t, std::uint64_t> moved_;
};

/// A candidate and how promising it is.
struct Scored {
  Candidate candidate;
  double score = 0;
};
/// Best score first; equal scores in an order that depends on the candidates alone.
void sort_by_score(std::vector<Scored>& candidates);

class StrategyBase : public Strategy {
 public:
  std::vector<Candidate> ask(int count) final;
  void tell(std::span<const Told> results) final;
  void set_progress(double fraction) final { progress_ = fraction; }

 protected:
  /// Who refines the best in the last part of a budget (`kRefineFrom`).
  enum class Refinement : std::uint8_t {
    Base,  ///< `ask` does, before it calls `propose`
    Own,   ///< `propose` does
    None,  ///< nobody: the strategy cannot, as `StrategyInfo::refines` says
  };
  /// `name` separates the random numbers of strategies that share a seed.
  StrategyBase(const StrategyContext& context, std::string_view name, Refinement refinement = Refinement::Base);

  /// Offers candidates to `accept`, best first, until it holds `count` or ideas run out; the base fills the rest at
  /// random.
  virtual void propose(int count) = 0;
  /// Called after the results have been added to `measured()`.
  virtual void learn(std::span<const Told> /*results*/) {}

  /// Accepts up to `count` unseen candidates around the best few that were measured, taken up in order of speed: all
  /// that differ from one in a single knob or lie in another design, then those that differ in two, then others.
  void refine(int count);
  /// Accepts of `candidates`, which are unseen, the best until only `keep` are missing: by the scorer, which also drops
  /// what cannot be built; without one in random order. A strategy with a model of its own knows better.
  virtual void accept_refinements(std::vector<Candidate> candidates, int keep);

  /// Adds a candidate to the batch unless it is invalid, was seen before or the batch is full. Returns whether it was
  /// added.
  bool accept(const Candidate& candidate);
  /// Adds a random unseen candidate; false when the space is exhausted.
  bool accept_random();
  int missing() const { return wanted_ - static_cast<int>(batch_.size()); }

  const SpaceIndex& index() const { return *index_; }
  const Space& space() const { return *context_.space; }
  bool has_scorer() const { return context_.scorer != nullptr; }
  Prior* prior() const { return context_.prior; }
  /// Higher is better. Requires has_scorer().
  std::vector<double> score(std::span<const Candidate> candidates);
  /// Those of `candidates` that were not seen and that the scorer, if there is one, believes can be built.
  std::vector<Candidate> worth_measuring(std::vector<Candidate> candidates);
  double option(const std::string& name) const { return context_.options.at(name); }
  int int_option(const std::string& name) const { return static_cast<int>(option(name)); }
  RandomStream& random() { return random_; }
  double progress() const { return progress_; }

  /// Successful measurements of valid candidates, fastest first.
  const Ranking& measured() const { return measured_; }
  /// Proposed, measured, or failed.
  bool seen(const Candidate& candidate) const { return seen_.contains(candidate); }

 private:
  std::vector<Candidate> unseen(std::vector<Candidate> candidates) const;

  StrategyContext context_;
  Refinement refinement_;
  std::unique_ptr<const SpaceIndex> own_index_;
  const SpaceIndex* index_;
  RandomStream random_;
  RandomStream fill_random_;
  RandomOrder unseen_;
  double progress_ = 0;
  CandidateSet seen_;
  Ranking measured_;
  std::vector<Candidate> batch_;
  int wanted_ = 0;
};

/// Picks `count` of those `candidates` that have a finite score, greedily: high scores, but each knob value and design
/// that the batch already has counts less the next time. `weight` 0 takes the best scores; 1 lets a wholly new
/// candidate make up for the whole range of the scores. (After the diversity-aware selection of Chen et al., "Learning
/// to optimize tensor programs", NeurIPS 2018, section 3.3.)
std::vector<Candidate> select_diverse(std::vector<Scored> candidates, int count, double weight);

}  // namespace temper::search
