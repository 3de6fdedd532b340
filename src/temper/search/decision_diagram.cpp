#include "temper/search/decision_diagram.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>

#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper::search {
namespace {

constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 63;

/// A constraint with its knobs as positions in the order.
struct PlacedConstraint {
  const Constraint* source = nullptr;
  std::vector<std::size_t> positions;  ///< in the order of the constraint's arguments
  std::size_t last = 0;                ///< the position that completes it
};

void check_design(const Design& design) {
  for (const Knob& knob : design.knobs) {
    if (knob.values.empty()) {
      throw Error(ErrorCode::InvalidArgument, "knob '" + knob.name + "' has no values", design.name);
    }
    std::vector<std::int64_t> sorted = knob.values;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      throw Error(ErrorCode::InvalidArgument, "knob '" + knob.name + "' lists a value twice", design.name);
    }
  }
  for (std::size_t i = 0; i < design.knobs.size(); ++i) {
    if (knob_index(design, design.knobs[i].name) != static_cast<int>(i)) {
      throw Error(ErrorCode::InvalidArgument, "two knobs are named '" + design.knobs[i].name + "'", design.name);
    }
  }
}

void check_listed(const Design& design) {
  if (!design.constraints.empty()) {
    throw Error(ErrorCode::InvalidArgument, "a design lists its valid choices and has constraints too", design.name,
                "list only the choices that hold");
  }
  for (const std::vector<std::int32_t>& choice : design.listed) {
    bool fits = choice.size() == design.knobs.size();
    for (std::size_t knob = 0; fits && knob < choice.size(); ++knob) {
      fits = choice[knob] >= 0 && static_cast<std::size_t>(choice[knob]) < design.knobs[knob].values.size();
    }
    if (!fits) throw Error(ErrorCode::InvalidArgument, "a listed choice does not fit the knobs", design.name);
  }
}

/// Knobs of each constraint, as positions in the design.
std::vector<std::vector<std::size_t>> constraint_knobs(const Design& design) {
  std::vector<std::vector<std::size_t>> result;
  for (const Constraint& constraint : design.constraints) {
    std::vector<std::size_t>& knobs = result.emplace_back();
    for (const std::string& name : constraint.knobs) {
      const int position = knob_index(design, name);
      if (position < 0) {
        throw Error(ErrorCode::InvalidArgument,
                    "constraint '" + constraint.name + "' names an unknown knob '" + name + "'", design.name);
      }
      knobs.push_back(static_cast<std::size_t>(position));
    }
  }
  return result;
}

/// Chooses greedily the knob after which the fewest combinations of waited-for knobs remain (the size of a layer of the
/// diagram); among equals the one with the fewest values, then the first declared.
std::vector<std::size_t> choose_order(const Design& design, const std::vector<std::vector<std::size_t>>& constraints) {
  const std::size_t count = design.knobs.size();
  std::vector<bool> assigned(count, false);
  const auto combinations_after = [&](std::size_t next) {
    assigned[next] = true;
    std::vector<bool> waited(count, false);
    for (const std::vector<std::size_t>& knobs : constraints) {
      if (std::all_of(knobs.begin(), knobs.end(), [&](std::size_t k) { return assigned[k]; })) continue;
      for (const std::size_t knob : knobs) waited[knob] = waited[knob] || assigned[knob];
    }
    double combinations = 1;
    for (std::size_t knob = 0; knob < count; ++knob) {
      if (waited[knob]) combinations *= static_cast<double>(design.knobs[knob].values.size());
    }
    assigned[next] = false;
    return combinations;
  };
  std::vector<std::size_t> order;
  while (order.size() < count) {
    std::size_t best = count;
    double best_combinations = std::numeric_limits<double>::infinity();
    for (std::size_t knob = 0; knob < count; ++knob) {
      if (assigned[knob]) continue;
      const double combinations = combinations_after(knob);
      const bool better =
          best == count || combinations < best_combinations ||
          (combinations == best_combinations && design.knobs[knob].values.size() < design.knobs[best].values.size());
      if (better) best = knob, best_combinations = combinations;
    }
    assigned[best] = true;
    order.push_back(best);
  }
  return order;
}

}  // namespace

class DecisionDiagram::Builder {
 public:
  Builder(DecisionDiagram& diagram, const Design& design, const DiagramLimits& limits)
      : diagram_(diagram), design_(design), limits_(limits) {
    check_design(design);
    const std::vector<std::vector<std::size_t>> knobs = constraint_knobs(design);
    diagram_.order_ = choose_order(design, knobs);
    const std::size_t depths = diagram_.order_.size();
    std::vector<std::size_t> position(depths);
    for (std::size_t i = 0; i < depths; ++i) {
      position[diagram_.order_[i]] = i;
      diagram_.domain_.push_back(design.knobs[diagram_.order_[i]].values.size());
    }
    choice_.assign(depths, 0);
    completed_.resize(depths);
    early_.resize(depths);
    for (const std::size_t knob : diagram_.order_) {
      const std::vector<std::int64_t>& values = design.knobs[knob].values;
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      ranges_.push_back({static_cast<double>(*low), static_cast<double>(*high)});
    }
    frontier_.resize(depths);
    memo_.resize(depths);
    unique_.resize(depths);
    for (std::size_t c = 0; c < knobs.size(); ++c) {
      PlacedConstraint placed;
      placed.source = &design.constraints[c];
      for (const std::size_t knob : knobs[c]) placed.positions.push_back(position[knob]);
      if (placed.positions.empty()) {
        always_ = always_ && placed.source->holds({});
        continue;
      }
      placed.last = *std::max_element(placed.positions.begin(), placed.positions.end());
      if (placed.source->may_hold) {
        for (const std::size_t p : placed.positions) {
          if (p < placed.last) early_[p].push_back(placed);
        }
      }
      for (std::size_t depth = 0; depth <= placed.last; ++depth) {
        for (const std::size_t p : placed.positions) {
          if (p < depth) frontier_[depth].push_back(p);
        }
      }
      completed_[placed.last].push_back(std::move(placed));
    }
    for (std::vector<std::size_t>& frontier : frontier_) {
      std::sort(frontier.begin(), frontier.end());
      frontier.erase(std::unique(frontier.begin(), frontier.end()), frontier.end());
    }
  }

  void build() {
    if (!always_) return;
    const Below below = design_.listed.empty() ? visit(0) : visit_listed();
    diagram_.root_ = below.node;
    diagram_.size_ = below.count;
  }

 private:
  struct Below {
    std::uint32_t node = kNone;
    std::uint64_t count = 0;
  };
  struct ChildrenHash {
    std::size_t operator()(const std::vector<std::uint32_t>& children) const {
      std::uint64_t hash = children.size();
      for (const std::uint32_t child : children) hash = hash_combine(hash, child);
      return static_cast<std::size_t>(hash);
    }
  };

  /// The frontier's values as one number; nothing when it would not fit or when no two partial assignments could share
  /// it.
  std::optional<std::uint64_t> frontier_key(std::size_t depth) const {
    const std::vector<std::size_t>& frontier = frontier_[depth];
    if (frontier.size() == depth && depth > 0) return std::nullopt;
    std::uint64_t key = 0;
    for (const std::size_t position : frontier) {
      const std::uint64_t domain = diagram_.domain_[position];
      if (key > (std::numeric_limits<std::uint64_t>::max() - domain) / domain) return std::nullopt;
      key = key * domain + static_cast<std::uint64_t>(choice_[position]);
    }
    return key;
  }

  bool consistent(std::size_t depth) {
    for (const PlacedConstraint& constraint : completed_[depth]) {
      arguments_.clear();
      for (const std::size_t position : constraint.positions) {
        arguments_.push_back(
            design_.knobs[diagram_.order_[position]].values[static_cast<std::size_t>(choice_[position])]);
      }
      if (!constraint.source->holds(arguments_)) return false;
    }
    return true;
  }

  /// Whether the constraints that wait for later knobs can still hold.
  bool possible(std::size_t depth) {
    for (const PlacedConstraint& constraint : early_[depth]) {
      bounds_.clear();
      for (const std::size_t position : constraint.positions) {
        if (position > depth) {
          bounds_.push_back(ranges_[position]);
          continue;
        }
        const auto value = static_cast<double>(
            design_.knobs[diagram_.order_[position]].values[static_cast<std::size_t>(choice_[position])]);
        bounds_.push_back({value, value});
      }
      if (!constraint.source->may_hold(bounds_)) return false;
    }
    return true;
  }

  [[noreturn]] void too_large(const char* what) const {
    std::string names;
    for (const Constraint& constraint : design_.constraints) {
      names += (names.empty() ? "'" : ", '") + constraint.name + "'";
    }
    throw Error(ErrorCode::Unsupported, std::string("the design's constraints tie too many knobs together: ") + what,
                design_.name,
                "shorten the knobs' value lists or split the constraints (" + names + ") into ones over fewer knobs");
  }

  Below visit(std::size_t depth) {
    if (depth == diagram_.order_.size()) return {0, 1};
    const std::optional<std::uint64_t> key = frontier_key(depth);
    if (key) {
      if (const auto known = memo_[depth].find(*key); known != memo_[depth].end()) return known->second;
    }
    const std::size_t domain = diagram_.domain_[depth];
    std::vector<std::uint32_t> children(domain, kNone);
    std::vector<std::uint64_t> lower(domain, 0);
    Below result;
    for (std::size_t value = 0; value < domain; ++value) {
      if (++visits_ > limits_.visits) too_large("enumerating them takes too long");
      choice_[depth] = static_cast<std::int32_t>(value);
      lower[value] = result.count;
      if (!consistent(depth) || !possible(depth)) continue;
      const Below below = visit(depth + 1);
      children[value] = below.node;
      if (below.count > kMaxSize - result.count) too_large("there are more than 2^63 valid candidates");
      result.count += below.count;
    }
    if (result.count > 0) result.node = intern(depth, children, lower);
    if (key) memo_[depth].emplace(*key, result);
    return result;
  }

  using Choice = std::vector<std::int32_t>;

  Below visit_listed() {
    check_listed(design_);
    std::vector<const Choice*> sorted;
    for (const Choice& choice : design_.listed) sorted.push_back(&choice);
    const auto before = [&](const Choice* a, const Choice* b) {
      for (const std::size_t knob : diagram_.order_) {
        if ((*a)[knob] != (*b)[knob]) return (*a)[knob] < (*b)[knob];
      }
      return false;
    };
    std::sort(sorted.begin(), sorted.end(), before);
    const auto same = [](const Choice* a, const Choice* b) { return *a == *b; };
    if (std::adjacent_find(sorted.begin(), sorted.end(), same) != sorted.end()) {
      throw Error(ErrorCode::InvalidArgument, "a choice is listed twice", design_.name);
    }
    return visit_listed(0, sorted);
  }

  /// Those that begin alike, by their values at `depth`.
  Below visit_listed(std::size_t depth, std::span<const Choice* const> choices) {
    if (depth == diagram_.order_.size()) return {0, 1};
    const std::size_t domain = diagram_.domain_[depth];
    std::vector<std::uint32_t> children(domain, kNone);
    std::vector<std::uint64_t> lower(domain, 0);
    Below result;
    std::size_t first = 0;
    for (std::size_t value = 0; value < domain; ++value) {
      lower[value] = result.count;
      std::size_t end = first;
      while (end < choices.size() && (*choices[end])[diagram_.order_[depth]] == static_cast<std::int32_t>(value)) ++end;
      if (end == first) continue;
      const Below below = visit_listed(depth + 1, choices.subspan(first, end - first));
      children[value] = below.node;
      result.count += below.count;
      first = end;
    }
    result.node = intern(depth, children, lower);
    return result;
  }

  /// The node with these children: an existing one where there is one.
  std::uint32_t intern(std::size_t depth, const std::vector<std::uint32_t>& children,
                       const std::vector<std::uint64_t>& lower) {
    const std::uint64_t first = diagram_.child_.size();
    const auto [at, inserted] = unique_[depth].emplace(children, static_cast<std::uint32_t>(first));
    if (!inserted) return at->second;
    if (first + children.size() > std::min<std::uint64_t>(limits_.edges, kNone))
      too_large("their diagram needs too much memory");
    diagram_.child_.insert(diagram_.child_.end(), children.begin(), children.end());
    diagram_.below_.insert(diagram_.below_.end(), lower.begin(), lower.end());
    return static_cast<std::uint32_t>(first);
  }

  DecisionDiagram& diagram_;
  const Design& design_;
  DiagramLimits limits_;
  bool always_ = true;                                    ///< constraints without knobs
  std::vector<std::vector<PlacedConstraint>> completed_;  ///< depth → constraints whose last knob is assigned there
  std::vector<std::vector<PlacedConstraint>> early_;      ///< depth → constraints that may already be hopeless there
  std::vector<Bounds> ranges_;                            ///< position → range of its knob's values
  std::vector<std::vector<std::size_t>> frontier_;        ///< depth → earlier positions that a later check still reads
  std::vector<std::unordered_map<std::uint64_t, Below>> memo_;
  std::vector<std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, ChildrenHash>> unique_;
  std::vector<std::int32_t> choice_;  ///< by position in the order
  std::vector<std::int64_t> arguments_;
  std::vector<Bounds> bounds_;
  std::uint64_t visits_ = 0;
};

DecisionDiagram::DecisionDiagram(const Design& design, const DiagramLimits& limits) {
  Builder(*this, design, limits).build();
}

std::optional<std::uint64_t> DecisionDiagram::index_of(std::span<const std::int32_t> choice) const {
  if (root_ == kNone || choice.size() != order_.size()) return std::nullopt;
  std::uint64_t index = 0;
  std::uint32_t node = root_;
  for (std::size_t depth = 0; depth < order_.size(); ++depth) {
    const std::int32_t value = choice[order_[depth]];
    if (value < 0 || static_cast<std::size_t>(value) >= domain_[depth]) return std::nullopt;
    const std::size_t edge = node + static_cast<std::size_t>(value);
    if (child_[edge] == kNone) return std::nullopt;
    index += below_[edge];
    node = child_[edge];
  }
  return index;
}

std::vector<std::int32_t> DecisionDiagram::at(std::uint64_t index) const {
  TEMPER_CHECK(index < size_, "a candidate past the end of its design was asked for");
  std::vector<std::int32_t> choice(order_.size());
  std::uint32_t node = root_;
  for (std::size_t depth = 0; depth < order_.size(); ++depth) {
    // The last edge with at most `index` choices below it: of several equal ones only the last leads anywhere.
    const auto first = below_.begin() + node, last = first + static_cast<std::ptrdiff_t>(domain_[depth]);
    const auto edge = std::upper_bound(first, last, index) - 1;
    choice[order_[depth]] = static_cast<std::int32_t>(edge - first);
    index -= *edge;
    node = child_[static_cast<std::size_t>(edge - below_.begin())];
  }
  return choice;
}

std::vector<std::int32_t> DecisionDiagram::list() const {
  const std::size_t depths = order_.size();
  std::vector<std::int32_t> rows(static_cast<std::size_t>(size_) * depths);
  if (size_ == 0 || depths == 0) return rows;
  // A walk down and up the diagram; each row is the one before with its last values changed.
  std::vector<std::int32_t> row(depths);
  std::vector<std::size_t> value(depths, 0);  // depth → value to look at next
  std::vector<std::uint32_t> node(depths);
  node[0] = root_;
  std::int32_t* out = rows.data();
  const std::size_t last = depths - 1;
  for (std::size_t depth = 0;;) {
    if (value[depth] == domain_[depth]) {
      if (depth == 0) break;
      --depth;
      continue;
    }
    const std::size_t chosen = value[depth]++;
    const std::uint32_t child = child_[node[depth] + chosen];
    if (child == kNone) continue;
    row[order_[depth]] = static_cast<std::int32_t>(chosen);
    if (depth == last) {
      out = std::copy(row.begin(), row.end(), out);
    } else {
      node[++depth] = child;
      value[depth] = 0;
    }
  }
  return rows;
}

std::vector<std::int32_t> DecisionDiagram::nearest(std::span<const std::int32_t> wanted) const {
  TEMPER_CHECK(size_ > 0 && wanted.size() == order_.size(), "there is no valid choice near the one that was asked for");
  std::vector<std::int32_t> choice(order_.size());
  std::uint32_t node = root_;
  for (std::size_t depth = 0; depth < order_.size(); ++depth) {
    const std::int64_t target = wanted[order_[depth]];
    std::int64_t best = -1;
    for (std::size_t value = 0; value < domain_[depth]; ++value) {
      if (child_[node + value] == kNone) continue;
      const std::int64_t candidate = static_cast<std::int64_t>(value);
      if (best < 0 || std::abs(candidate - target) < std::abs(best - target)) best = candidate;
    }
    choice[order_[depth]] = static_cast<std::int32_t>(best);
    node = child_[node + static_cast<std::size_t>(best)];
  }
  return choice;
}

}  // namespace temper::search
