// The loop programs of the two walk-throughs of docs/architecture.md, whole. To change one on purpose, run the test
// with TEMPER_UPDATE_GOLDEN=1 and read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "paths.h"
#include "programs.h"

namespace temper::nest {
namespace {

void expect_golden(const std::string& name, const char* compute, const char* trace) {
  const schedule::Schedule s = testing::scheduled(compute, trace);
  const Program program = build(s);
  verify(program, s);
  const std::string path = paths::source() + "/tests/nest/" + name;
  if (std::getenv("TEMPER_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << print(program);
  std::ifstream file(path);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(print(program), golden.str());
}

// Rows are 17 x 6 + 5 x 5, chosen by a branch; C's n rounds up into B's padding while E masks its store.
TEST(Golden, Gemm) { expect_golden("gemm.golden.txt", testing::kGemm, testing::kGemmTrace); }

// kh becomes loop bounds; kw x pixel folds in the left and right segment, and is gone in the middle one.
TEST(Golden, DirectConvolution) { expect_golden("conv.golden.txt", testing::kConv, testing::kConvTrace); }

}  // namespace
}  // namespace temper::nest
