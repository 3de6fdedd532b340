#include "temper/search/enumeration.h"

#include <algorithm>
#include <cmath>

#include "temper/support/error.h"

namespace temper::search {

SpaceIndex::SpaceIndex(const Space& space, const DiagramLimits& limits) {
  first_.push_back(0);
  for (const Design& design : space.designs()) {
    diagrams_.emplace_back(design, limits);
    knobs_.push_back(design.knobs);
    const std::uint64_t size = diagrams_.back().size();
    if (size > ~std::uint64_t{0} - first_.back()) {
      throw Error(ErrorCode::Unsupported, "the space has more than 2^64 valid candidates", design.name,
                  "shorten the knobs' value lists");
    }
    if (size > 0) populated_.push_back(static_cast<int>(diagrams_.size()) - 1);
    first_.push_back(first_.back() + size);
  }
}

std::optional<std::uint64_t> SpaceIndex::index_of(const Candidate& candidate) const {
  if (candidate.design < 0 || candidate.design >= designs()) return std::nullopt;
  const std::optional<std::uint64_t> within = diagram(candidate).index_of(candidate.choice);
  if (!within) return std::nullopt;
  return first_[static_cast<std::size_t>(candidate.design)] + *within;
}

Candidate SpaceIndex::at(std::uint64_t index) const {
  TEMPER_CHECK(index < size(), "a candidate past the end of the space was asked for");
  const auto next = std::upper_bound(first_.begin(), first_.end(), index);
  const std::size_t design = static_cast<std::size_t>(next - first_.begin()) - 1;
  return {static_cast<int>(design), diagrams_[design].at(index - first_[design])};
}

Candidate SpaceIndex::sample_by_design(RandomStream& random) const {
  TEMPER_CHECK(!populated_.empty(), "a candidate of an empty space was asked for");
  const int design = random.pick(populated_);
  return {design, diagrams_[static_cast<std::size_t>(design)].at(random.below(size(design)))};
}

std::vector<Candidate> SpaceIndex::neighbours(const Candidate& candidate, Reach reach) const {
  std::vector<Candidate> result;
  Candidate moved = candidate;
  for (std::size_t knob = 0; knob < candidate.choice.size(); ++knob) {
    const std::int32_t here = candidate.choice[knob], end = domain(candidate, knob);
    const auto valid = [&](std::int32_t value) {
      moved.choice[knob] = value;
      return diagram(candidate).contains(moved.choice);
    };
    if (reach == Reach::Any) {
      for (std::int32_t value = 0; value < end; ++value) {
        if (value != here && valid(value)) result.push_back(moved);
      }
    } else {
      std::int32_t value = here - 1;
      while (value >= 0 && !valid(value)) --value;
      if (value >= 0) result.push_back(moved);
      value = here + 1;
      while (value < end && !valid(value)) ++value;
      if (value < end) result.push_back(moved);
    }
    moved.choice[knob] = here;
  }
  return result;
}

std::vector<Candidate> SpaceIndex::pair_neighbours(const Candidate& candidate, Reach reach) const {
  std::vector<std::vector<std::int32_t>> moves(candidate.choice.size());
  for (std::size_t knob = 0; knob < moves.size(); ++knob) {
    for (std::int32_t value = 0; value < domain(candidate, knob); ++value) {
      const std::int32_t distance = std::abs(value - candidate.choice[knob]);
      if (distance == 1 || (distance > 1 && reach == Reach::Any)) moves[knob].push_back(value);
    }
  }
  std::vector<Candidate> result;
  Candidate moved = candidate;
  for (std::size_t a = 0; a < moves.size(); ++a) {
    for (const std::int32_t value_a : moves[a]) {
      moved.choice[a] = value_a;
      for (std::size_t b = a + 1; b < moves.size(); ++b) {
        for (const std::int32_t value_b : moves[b]) {
          moved.choice[b] = value_b;
          if (diagram(candidate).contains(moved.choice)) result.push_back(moved);
        }
        moved.choice[b] = candidate.choice[b];
      }
    }
    moved.choice[a] = candidate.choice[a];
  }
  return result;
}

Candidate SpaceIndex::translate(const Candidate& candidate, int design) const {
  const std::vector<Knob>& from = knobs_[static_cast<std::size_t>(candidate.design)];
  Candidate result{design, {}};
  for (const Knob& knob : knobs_[static_cast<std::size_t>(design)]) {
    std::size_t choice = knob.values.size() / 2;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i].name != knob.name) continue;
      const std::int64_t wanted = from[i].values[static_cast<std::size_t>(candidate.choice[i])];
      const auto distance = [&](std::int64_t value) {
        return std::abs(static_cast<double>(value) - static_cast<double>(wanted));
      };
      const auto nearest = std::min_element(knob.values.begin(), knob.values.end(),
                                            [&](std::int64_t a, std::int64_t b) { return distance(a) < distance(b); });
      choice = static_cast<std::size_t>(nearest - knob.values.begin());
    }
    result.choice.push_back(static_cast<std::int32_t>(choice));
  }
  result.choice = diagram(result).nearest(result.choice);
  return result;
}

Candidate SpaceIndex::mutate(const Candidate& candidate, int knobs, RandomStream& random) const {
  constexpr std::uint64_t kOneTranslationIn = 16;
  const bool alone = size(candidate.design) <= 1;
  if (populated_.size() > 1 && (alone || random.below(kOneTranslationIn) == 0)) {
    int design = candidate.design;
    while (design == candidate.design) design = random.pick(populated_);
    return translate(candidate, design);
  }
  return mutate_within(candidate, knobs, random);
}

Candidate SpaceIndex::mutate_within(const Candidate& candidate, int knobs, RandomStream& random) const {
  const DecisionDiagram& valid = diagram(candidate);
  std::vector<std::size_t> open;
  for (std::size_t knob = 0; knob < candidate.choice.size(); ++knob) {
    if (domain(candidate, knob) > 1) open.push_back(knob);
  }
  // Most single changes are valid or near something valid; a few tries find one that is not the parent again.
  constexpr int kTries = 8;
  for (int attempt = 0; attempt < kTries && !open.empty(); ++attempt) {
    Candidate moved = candidate;
    for (int change = 0; change < knobs; ++change) {
      const std::size_t knob = random.pick(open);
      const std::int32_t end = domain(candidate, knob), here = moved.choice[knob];
      std::int32_t value = here;
      if (random.chance(0.5)) {
        value = here + (random.chance(0.5) ? 1 : -1);
        if (value < 0 || value >= end) value = 2 * here - value;
      } else {
        value = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(end) - 1));
        if (value >= here) ++value;
      }
      moved.choice[knob] = value;
    }
    moved.choice = valid.nearest(moved.choice);
    if (moved != candidate) return moved;
  }
  const std::uint64_t count = valid.size();
  if (count < 2) return candidate;
  const std::optional<std::uint64_t> own = valid.index_of(candidate.choice);
  std::uint64_t other = random.below(own ? count - 1 : count);
  if (own && other >= *own) ++other;
  return {candidate.design, valid.at(other)};
}

Candidate SpaceIndex::crossover(const Candidate& one, const Candidate& other, RandomStream& random) const {
  if (one.design != other.design) return random.chance(0.5) ? one : other;
  Candidate child = one;
  for (std::size_t knob = 0; knob < child.choice.size(); ++knob) {
    if (random.chance(0.5)) child.choice[knob] = other.choice[knob];
  }
  child.choice = diagram(child).nearest(child.choice);
  return child;
}

}  // namespace temper::search
