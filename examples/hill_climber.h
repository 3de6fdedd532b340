// Climbs from the best candidate that was measured to those that differ from it in one knob. Where none of them is left
// it goes to any other place.
#pragma once

#include <temper/support/random.h>
#include <temper/temper.h>

#include <optional>
#include <span>
#include <vector>

namespace example {

class HillClimber : public temper::search::Strategy {
 public:
  explicit HillClimber(const temper::search::StrategyContext& context) : index_(context.index), random_(context.seed) {}

  std::vector<temper::search::Candidate> ask(int count) override {
    std::vector<temper::search::Candidate> batch;
    const auto take = [&](const temper::search::Candidate& candidate) {
      if (static_cast<int>(batch.size()) < count && seen_.insert(candidate).second) batch.push_back(candidate);
    };
    if (best_) {
      std::vector<temper::search::Candidate> near = index_->neighbours(best_->candidate, temper::search::Reach::Step);
      random_.shuffle(near);
      for (const temper::search::Candidate& candidate : near) take(candidate);
    }
    // Every candidate is asked for in the end, so that the batch is short only when the space is used up.
    while (static_cast<int>(batch.size()) < count && seen_.size() < index_->size()) take(index_->sample(random_));
    return batch;
  }

  void tell(std::span<const temper::search::Told> results) override {
    for (const temper::search::Told& told : results) {
      seen_.insert(told.candidate);
      if (told.ok && (!best_ || told.seconds < best_->seconds)) best_ = told;
    }
  }

 private:
  const temper::search::SpaceIndex* index_;
  temper::RandomStream random_;
  temper::search::CandidateSet seen_;
  std::optional<temper::search::Told> best_;
};

}  // namespace example
