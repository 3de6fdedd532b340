#include "temper/search/enumeration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "search/toy_space.h"
#include "temper/support/error.h"

namespace temper::search {
namespace {

/// A random design of up to five knobs with up to four constraints, each a random table over up to three of them.
Design random_design(RandomStream& random) {
  Design design{"random", {}, {}};
  const std::int64_t knobs = random.uniform_int(0, 5);
  for (std::int64_t k = 0; k < knobs; ++k) {
    design.knobs.push_back({"k" + std::to_string(k), range(1, random.uniform_int(1, 5))});
  }
  const std::int64_t constraints = random.uniform_int(0, 4);
  for (std::int64_t c = 0; c < constraints; ++c) {
    Constraint constraint;
    constraint.name = "c" + std::to_string(c);
    std::vector<std::string> names;
    for (const Knob& knob : design.knobs) names.push_back(knob.name);
    random.shuffle(names);
    names.resize(std::min<std::size_t>(names.size(), static_cast<std::size_t>(random.uniform_int(0, 3))));
    constraint.knobs = names;
    const std::uint64_t salt = random.next(), allowed = random.below(8) + (names.empty() ? 4 : 0);
    constraint.holds = [salt, allowed](std::span<const std::int64_t> values) {
      std::uint64_t hash = salt;
      for (const std::int64_t value : values) {
        hash += static_cast<std::uint64_t>(value);
        hash = split_mix64(hash);
      }
      return hash % 8 <= allowed;
    };
    design.constraints.push_back(std::move(constraint));
  }
  return design;
}

std::vector<Candidate> brute_force(const Space& space) {
  std::vector<Candidate> valid;
  for (std::size_t d = 0; d < space.designs().size(); ++d) {
    for (const Candidate& candidate : all_choices(space.designs()[d], static_cast<int>(d))) {
      if (holds(space.designs()[d], candidate)) valid.push_back(candidate);
    }
  }
  return valid;
}

FakeSpace random_space(std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<Design> designs;
  const std::int64_t count = random.uniform_int(1, 3);
  for (std::int64_t i = 0; i < count; ++i) designs.push_back(random_design(random));
  return FakeSpace(std::move(designs));
}

TEST(Enumeration, CountsAndNumbersEqualBruteForce) {
  EXPECT_TRUE(rc::check("the numbers 0..size-1 are the valid candidates", [](std::uint64_t seed) {
    const FakeSpace space = random_space(seed);
    const SpaceIndex index(space);
    const std::vector<Candidate> valid = brute_force(space);
    RC_ASSERT(index.size() == valid.size());
    CandidateSet seen;
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      const Candidate candidate = index.at(i);
      RC_ASSERT(index.index_of(candidate) == i);
      RC_ASSERT(holds(space.designs()[static_cast<std::size_t>(candidate.design)], candidate));
      seen.insert(candidate);
    }
    RC_ASSERT(seen.size() == valid.size());
    for (std::size_t d = 0; d < space.designs().size(); ++d) {
      for (const Candidate& candidate : all_choices(space.designs()[d], static_cast<int>(d))) {
        RC_ASSERT(index.contains(candidate) == holds(space.designs()[d], candidate));
      }
    }
  }));
}

TEST(Enumeration, RangesChangeTheWorkAndNotTheSpace) {
  // Five knobs whose sum is 20: without ranges the constraint is first looked at when all have a value.
  Design design{"sum", {}, {}};
  std::vector<std::string> names;
  for (int k = 0; k < 5; ++k) {
    names.push_back("k" + std::to_string(k));
    design.knobs.push_back({names.back(), range(0, 9)});
  }
  const auto sum = [](auto v) {
    std::int64_t total = 0;
    for (const std::int64_t value : v) total += value;
    return total;
  };
  design.constraints.push_back({"sum", names, [&](std::span<const std::int64_t> v) { return sum(v) <= 5; }});
  const DecisionDiagram slow(design);
  int calls = 0;
  design.constraints[0].may_hold = [&](std::span<const Bounds> bounds) {
    ++calls;
    double least = 0;
    for (const Bounds& b : bounds) least += b.low;
    return least <= 5;
  };
  const DecisionDiagram fast(design, {.visits = 4000});
  EXPECT_GT(calls, 0);
  EXPECT_EQ(fast.list(), slow.list());
  EXPECT_EQ(fast.size(), 252u);
  EXPECT_THROW(
      DecisionDiagram({design.name, design.knobs, {{"sum", names, design.constraints[0].holds}}}, {.visits = 4000}),
      Error);
}

TEST(Enumeration, TheListIsInTheOrderOfNumbers) {
  EXPECT_TRUE(rc::check("rows are at(0), at(1), ...", [](std::uint64_t seed) {
    RandomStream random(seed);
    const Design design = random_design(random);
    const DecisionDiagram diagram(design);
    const std::vector<std::int32_t> rows = diagram.list();
    const std::size_t width = design.knobs.size();
    RC_ASSERT(rows.size() == diagram.size() * width);
    for (std::uint64_t i = 0; i < diagram.size(); ++i) {
      const auto row = rows.begin() + static_cast<std::ptrdiff_t>(i * width);
      RC_ASSERT(std::vector<std::int32_t>(row, row + static_cast<std::ptrdiff_t>(width)) == diagram.at(i));
    }
  }));
}

TEST(Enumeration, NeighboursEqualBruteForce) {
  EXPECT_TRUE(rc::check("neighbours are the valid candidates at distance one", [](std::uint64_t seed) {
    const FakeSpace space = random_space(seed);
    const SpaceIndex index(space);
    RC_PRE(index.size() > 0u);
    RandomStream random(seed);
    const Candidate here = index.sample(random);
    CandidateSet any, step, pair_any, pair_step;
    for (const Candidate& other : brute_force(space)) {
      if (other.design != here.design) continue;
      std::vector<std::size_t> differing;
      bool single_steps = true;
      for (std::size_t k = 0; k < here.choice.size(); ++k) {
        if (here.choice[k] == other.choice[k]) continue;
        differing.push_back(k);
        single_steps &= std::abs(here.choice[k] - other.choice[k]) == 1;
      }
      if (differing.size() == 2) pair_any.insert(other);
      if (differing.size() == 2 && single_steps) pair_step.insert(other);
      if (differing.size() != 1) continue;
      any.insert(other);
      // A step is a valid value with no other valid one between.
      const std::size_t k = differing[0];
      const int direction = other.choice[k] > here.choice[k] ? 1 : -1;
      bool nearest = true;
      Candidate between = here;
      for (std::int32_t v = here.choice[k] + direction; v != other.choice[k]; v += direction) {
        between.choice[k] = v;
        nearest &= !holds(space.designs()[static_cast<std::size_t>(here.design)], between);
      }
      if (nearest) step.insert(other);
    }
    const auto as_set = [](const std::vector<Candidate>& list) {
      const CandidateSet set(list.begin(), list.end());
      RC_ASSERT(set.size() == list.size());
      return set;
    };
    RC_ASSERT(as_set(index.neighbours(here, Reach::Any)) == any);
    RC_ASSERT(as_set(index.neighbours(here, Reach::Step)) == step);
    RC_ASSERT(as_set(index.pair_neighbours(here, Reach::Any)) == pair_any);
    RC_ASSERT(as_set(index.pair_neighbours(here, Reach::Step)) == pair_step);
  }));
}

TEST(Enumeration, MutationAndCrossoverStayValid) {
  EXPECT_TRUE(rc::check("children are valid; a mutation is not its parent", [](std::uint64_t seed) {
    const FakeSpace space = random_space(seed);
    const SpaceIndex index(space);
    RC_PRE(index.size() > 0u);
    RandomStream random(seed);
    for (int i = 0; i < 20; ++i) {
      const Candidate one = index.sample(random), other = index.sample_by_design(random);
      const Candidate mutation = index.mutate(one, static_cast<int>(random.uniform_int(1, 3)), random);
      RC_ASSERT(index.contains(mutation));
      RC_ASSERT((mutation == one) == (index.size() == 1u));
      const Candidate child = index.crossover(one, other, random);
      RC_ASSERT(index.contains(child));
      RC_ASSERT(child.design == one.design || child.design == other.design);
      RC_ASSERT(index.crossover(one, one, random) == one);
      RC_ASSERT(index.nearest(one) == one);
      Candidate wanted = one;
      for (std::size_t knob = 0; knob < wanted.choice.size(); ++knob) {
        const Design& design = space.designs()[static_cast<std::size_t>(one.design)];
        wanted.choice[knob] = static_cast<std::int32_t>(random.below(design.knobs[knob].values.size()));
      }
      RC_ASSERT(index.contains(index.nearest(wanted)));
      RC_ASSERT(index.nearest(wanted).design == one.design);
    }
  }));
}

TEST(Enumeration, CrossoverTakesEveryKnobFromAParent) {
  const FakeSpace space({{"free", {{"a", range(1, 9)}, {"b", range(1, 9)}, {"c", range(1, 9)}}, {}}});
  const SpaceIndex index(space);
  RandomStream random(1);
  const Candidate one{0, {0, 1, 2}}, other{0, {6, 7, 8}};
  std::set<std::vector<std::int32_t>> children;
  for (int i = 0; i < 200; ++i) children.insert(index.crossover(one, other, random).choice);
  EXPECT_EQ(children.size(), 8u);
  for (const std::vector<std::int32_t>& child : children) {
    for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(child[k] == one.choice[k] || child[k] == other.choice[k]);
  }
}

TEST(Enumeration, ABillionConstrainedCandidatesTakeFewNodes) {
  // Four groups of three tied knobs and two free ones: (8^3 minus what the constraint forbids)^4 · 100.
  Design design{"wide", {}, {}};
  std::uint64_t group = 0;
  for (std::int64_t a = 1; a <= 8; ++a) {
    for (std::int64_t b = 1; b <= 8; ++b) {
      for (std::int64_t c = 1; c <= 8; ++c) group += a * b + c <= 20 ? 1 : 0;
    }
  }
  for (int g = 0; g < 4; ++g) {
    std::vector<std::string> names;
    for (const char* knob : {"a", "b", "c"}) {
      names.push_back(knob + std::to_string(g));
      design.knobs.push_back({names.back(), range(1, 8)});
    }
    design.constraints.push_back({"group " + std::to_string(g), names,
                                  [](std::span<const std::int64_t> v) { return v[0] * v[1] + v[2] <= 20; }});
  }
  design.knobs.push_back({"x", range(1, 10)});
  design.knobs.push_back({"y", range(1, 10)});
  const DecisionDiagram diagram(design);
  EXPECT_EQ(diagram.size(), group * group * group * group * 100);
  EXPECT_GT(diagram.size(), 1'000'000'000u);
  EXPECT_LT(diagram.edges(), 2000u);
  for (const std::uint64_t number : {std::uint64_t{0}, diagram.size() / 3, diagram.size() - 1}) {
    EXPECT_EQ(diagram.index_of(diagram.at(number)), number);
  }
}

TEST(Enumeration, AChainOfConstraintsNeedsOnlyItsFrontier) {
  // Twelve knobs in a chain, each at least the one before: C(12+9, 9) non-decreasing sequences.
  Design design{"chain", {}, {}};
  for (int k = 0; k < 12; ++k) {
    design.knobs.push_back({"k" + std::to_string(k), range(1, 10)});
    if (k == 0) continue;
    design.constraints.push_back({"ordered",
                                  {"k" + std::to_string(k - 1), "k" + std::to_string(k)},
                                  [](std::span<const std::int64_t> v) { return v[0] <= v[1]; }});
  }
  const DecisionDiagram diagram(design);
  EXPECT_EQ(diagram.size(), 293930u);
  EXPECT_LT(diagram.edges(), 2000u);
}

TEST(Enumeration, SamplesAreUniform) {
  const FakeSpace space({{"triangle",
                          {{"a", range(1, 4)}, {"b", range(1, 4)}},
                          {{"ordered", {"a", "b"}, [](std::span<const std::int64_t> v) { return v[0] <= v[1]; }}}}});
  const SpaceIndex index(space);
  ASSERT_EQ(index.size(), 10u);
  RandomStream random(5);
  CandidateMap<int> seen;
  for (int i = 0; i < 20000; ++i) ++seen[index.sample(random)];
  ASSERT_EQ(seen.size(), 10u);
  for (const auto& [candidate, count] : seen) EXPECT_NEAR(count, 2000, 200);
}

TEST(Enumeration, SmallDesignsAreNotDrownedByLargeOnes) {
  const FakeSpace space(
      {{"large", {{"a", range(1, 100)}, {"b", range(1, 100)}}, {}},
       {"small", {{"a", range(1, 2)}}, {}},
       {"empty", {{"a", {1}}}, {{"never", {"a"}, [](std::span<const std::int64_t>) { return false; }}}}});
  const SpaceIndex index(space);
  EXPECT_EQ(index.size(), 10002u);
  EXPECT_EQ(index.size(2), 0u);
  RandomStream random(6);
  int small = 0;
  for (int i = 0; i < 1000; ++i) {
    const Candidate candidate = index.sample_by_design(random);
    ASSERT_NE(candidate.design, 2);
    small += candidate.design == 1;
  }
  EXPECT_NEAR(small, 500, 60);
}

TEST(Enumeration, NearestKeepsValidChoicesAndMovesOthersLittle) {
  const FakeSpace space(
      {{"budget",
        {{"a", range(1, 8)}, {"b", range(1, 8)}},
        {{"product", {"a", "b"}, [](std::span<const std::int64_t> v) { return v[0] * v[1] <= 8; }}}}});
  const DecisionDiagram diagram(space.designs()[0]);
  EXPECT_EQ(diagram.nearest(std::vector<std::int32_t>{3, 1}), (std::vector<std::int32_t>{3, 1}));
  const std::vector<std::int32_t> moved = diagram.nearest(std::vector<std::int32_t>{3, 3});
  EXPECT_TRUE(diagram.contains(moved));
  EXPECT_EQ(std::abs(moved[0] - 3) + std::abs(moved[1] - 3), 2);
}

TEST(Enumeration, TranslationKeepsWhatBothDesignsName) {
  const auto small = [](std::span<const std::int64_t> v) { return v[0] <= 6; };
  const FakeSpace space({{"one", {{"rows", {1, 2, 4, 8}}, {"order", {0, 1}}}, {}},
                         {"other", {{"unroll", {1, 2, 4}}, {"rows", {1, 3, 6, 9}}}, {{"few rows", {"rows"}, small}}}});
  const SpaceIndex index(space);
  EXPECT_EQ(index.translate({0, {2, 1}}, 1), (Candidate{1, {1, 1}}));  // 4 rows → 3, unroll in the middle
  EXPECT_EQ(index.translate({0, {3, 1}}, 1), (Candidate{1, {1, 2}}));  // 8 rows → 9, which is not valid → 6
  RandomStream random(2);
  int translated = 0;
  for (int i = 0; i < 1600; ++i) translated += index.mutate({0, {2, 1}}, 1, random).design;
  EXPECT_NEAR(translated, 100, 35);
}

TEST(Enumeration, AMalformedDesignIsRefusedByName) {
  const auto message = [](const Design& design, const DiagramLimits& limits = {}) -> std::string {
    try {
      const DecisionDiagram diagram(design, limits);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto always = [](std::span<const std::int64_t>) { return true; };
  EXPECT_THAT(message({"d", {{"a", {}}}, {}}), ::testing::HasSubstr("knob 'a' has no values"));
  EXPECT_THAT(message({"d", {{"a", {1, 2, 1}}}, {}}), ::testing::HasSubstr("knob 'a' lists a value twice"));
  EXPECT_THAT(message({"d", {{"a", {1}}, {"a", {2}}}, {}}), ::testing::HasSubstr("two knobs are named 'a'"));
  EXPECT_THAT(message({"d", {{"a", {1}}}, {{"c", {"z"}, always}}}),
              ::testing::HasSubstr("constraint 'c' names an unknown knob 'z'"));
  const Design tied{"d", {{"a", range(1, 50)}, {"b", range(1, 50)}}, {{"c", {"a", "b"}, always}}};
  EXPECT_THAT(message(tied, {.visits = 100}), ::testing::HasSubstr("tie too many knobs together"));
  EXPECT_THAT(message(tied, {.edges = 40}), ::testing::HasSubstr("too much memory"));
  Design huge{"d", {}, {}};
  for (int k = 0; k < 70; ++k) huge.knobs.push_back({"k" + std::to_string(k), {0, 1}});
  EXPECT_THAT(message(huge), ::testing::HasSubstr("more than 2^63 valid candidates"));
}

TEST(Enumeration, TheToySpaceHasTheDocumentedSize) {
  const FakeSpace space = toy_matmul();
  EXPECT_EQ(SpaceIndex(space).size(), 636696u);
  EXPECT_EQ(SpaceIndex(space).size(), brute_force(space).size());
}

}  // namespace
}  // namespace temper::search
