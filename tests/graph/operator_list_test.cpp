// docs/operators.md is what the tables say.
#include "temper/graph/operator_list.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "paths.h"

namespace temper::graph {
namespace {

TEST(OperatorList, DocumentIsCurrent) {
  std::ifstream stream(paths::source() + "/docs/operators.md");
  std::ostringstream text;
  text << stream.rdbuf();
  EXPECT_EQ(text.str(), operators_document()) << "temper operators --markdown > docs/operators.md";
}

TEST(OperatorList, NothingIsBothSupportedAndRefused) {
  std::vector<std::string_view> supported;
  for (const ListedOperator& op : listed_operators()) supported.push_back(op.name);
  EXPECT_TRUE(std::is_sorted(supported.begin(), supported.end()));
  EXPECT_GE(supported.size(), 150u);
  for (const RefusedOperators& group : refused_operators()) {
    EXPECT_TRUE(std::is_sorted(group.names.begin(), group.names.end())) << group.reason;
    for (const std::string_view name : group.names) EXPECT_THAT(supported, ::testing::Not(::testing::Contains(name)));
  }
}

}  // namespace
}  // namespace temper::graph
