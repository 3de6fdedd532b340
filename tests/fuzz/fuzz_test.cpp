// Random pairs of compute and schedule: built, run, and equal to the oracle. TEMPER_FUZZ_PAIRS sets how many,
// TEMPER_FUZZ_SEED where to start; one seed alone reproduces its pair.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "check.h"

namespace temper::fuzz {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Fuzz, EveryAcceptedPairEqualsTheOracle) {
  const std::uint64_t pairs = from_environment("TEMPER_FUZZ_PAIRS", 300),
                      first = from_environment("TEMPER_FUZZ_SEED", 1);
  const std::uint64_t most_failures = from_environment("TEMPER_FUZZ_FAILURES", 1);
  const char* show = std::getenv("TEMPER_FUZZ_SHOW");  // prints pairs that are refused by this rule
  Checker checker(target::detect());
  std::map<std::string, int> refused, primitives, kinds, features;
  std::uint64_t accepted = 0, failures = 0;
  for (std::uint64_t seed = first; seed < first + pairs && failures < most_failures; ++seed) {
    Pair pair;
    const Outcome outcome = check_seed(checker, seed, pair);
    for (const auto& [rule, count] : pair.refused_primitives) primitives[rule] += count;
    switch (outcome.kind) {
      case Outcome::Kind::Equal:
        ++accepted;
        ++kinds[pair.definition.kind];
        for (const std::string& feature : pair.features) ++features[feature];
        break;
      case Outcome::Kind::Refused:
        ++refused[outcome.rule];
        if (show != nullptr && outcome.rule.find(show) != std::string::npos)
          std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), outcome.message.c_str());
        break;
      case Outcome::Kind::Failed:
        ++failures;
        ADD_FAILURE() << "seed " << seed << " (" << pair.definition.kind << "): " << outcome.message
                      << "\nto reproduce: TEMPER_FUZZ_PAIRS=1 TEMPER_FUZZ_SEED=" << seed
                      << " test_fuzz --gtest_filter=Fuzz.EveryAcceptedPairEqualsTheOracle";
        break;
    }
  }
  std::printf("%llu pairs from seed %llu: %llu equal\n", static_cast<unsigned long long>(pairs),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(accepted));
  for (const auto& [rule, count] : refused) std::printf("  refused %5d  %s\n", count, rule.c_str());
  for (const auto& [rule, count] : primitives) std::printf("  primitives refused %5d  %s\n", count, rule.c_str());
  for (const auto& [kind, count] : kinds) std::printf("  equal %5d  %s\n", count, kind.c_str());
  for (const auto& [feature, count] : features) std::printf("  with %5d  %s\n", count, feature.c_str());
  if (failures > 0) return;
  EXPECT_GE(accepted * 2, pairs) << "most pairs are refused: draw more plausible schedules";
  if (pairs < 300) return;
  EXPECT_GE(features["input with gaps"] * 20, static_cast<int>(pairs));
  EXPECT_GE(features["output with gaps"] * 20, static_cast<int>(pairs));
}

}  // namespace
}  // namespace temper::fuzz
