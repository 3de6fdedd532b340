// Features are documented one by one, and all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "paths.h"
#include "temper/cost/analytic.h"

namespace temper::cost {
namespace {

TEST(FeatureDocs, EveryFeatureIsDescribed) {
  std::ifstream in(paths::source() + "/docs/cost_models.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::set<std::string_view> names;
  for (const auto& table : {analytic_feature_table(), loop_feature_table()}) {
    for (const FeatureInfo& feature : table) {
      EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
      const std::string line = "| `" + std::string(feature.name) + "` | " + std::string(feature.doc) + " |";
      EXPECT_THAT(text, ::testing::HasSubstr(line));
    }
  }
  for (const Fact& fact : target_facts(target::Target{}, 1)) {
    EXPECT_THAT(text, ::testing::HasSubstr("`fact." + fact.first + "`"));
  }
}

}  // namespace
}  // namespace temper::cost
