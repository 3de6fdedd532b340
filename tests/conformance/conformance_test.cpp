// A part of the ONNX backend suite, chosen so that it takes seconds: every twelfth case. `make conformance` runs all.
#include <gmock/gmock.h>

#include "conformance/suite.h"
#include "paths.h"

namespace temper::conformance {
namespace {

namespace fs = std::filesystem;

TEST(Conformance, CasesPassOrAreRefusedAtImport) {
  const fs::path suite = fs::path(paths::source()) / "build" / "onnx-suite" / "onnx" / "backend" / "test" / "data";
  if (!fs::exists(suite)) GTEST_SKIP() << "scripts/conformance.sh --fetch gets the suite";
  const std::vector<Case> all = find_cases(suite);
  std::vector<Case> cases;
  for (std::size_t i = 0; i < all.size(); i += 12) cases.push_back(all[i]);
  int passed = 0;
  const std::vector<Result> results = run_isolated(cases, 2, 60);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    passed += results[i].outcome == Outcome::Passed ? 1 : 0;
    EXPECT_THAT(results[i].outcome, ::testing::AnyOf(Outcome::Passed, Outcome::Refused, Outcome::Apart))
        << cases[i].name << ": " << results[i].reason << "\n"
        << results[i].detail;
  }
  EXPECT_GE(passed, 30);
}

}  // namespace
}  // namespace temper::conformance
