// Property tests take the same random cases in every run; RC_PARAMS from outside still decides.
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

class FixedSeed : public ::testing::Environment {
 public:
  void SetUp() override { setenv("RC_PARAMS", "seed=20240601", 0); }
};
[[maybe_unused]] const ::testing::Environment* const registered = ::testing::AddGlobalTestEnvironment(new FixedSeed);

}  // namespace
