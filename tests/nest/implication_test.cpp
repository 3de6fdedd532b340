#include "temper/nest/implication.h"

#include <gtest/gtest.h>

namespace temper::nest {
namespace {

using analysis::Var;
using analysis::VarSpace;

class ImplicationTest : public ::testing::Test {
 protected:
  VarSpace vars_;
  const Var x_ = vars_.add("x", {0, 31}), y_ = vars_.add("y", {0, 31});
  Affine x() const { return Affine::of(x_); }
  Affine y() const { return Affine::of(y_); }
  bool follows(const Affine& form, const std::vector<Condition>& facts) const {
    return Implication(vars_).nonnegative(form, facts);
  }
};

TEST_F(ImplicationTest, RangesAndFactsBoundForms) {
  EXPECT_TRUE(follows(Affine(31) - x(), {}));
  EXPECT_FALSE(follows(Affine(30) - x(), {}));
  // 2x + y <= 20 gives x <= 10 and no less.
  const std::vector<Condition> facts{{Affine(20) - x() * 2 - y(), false}};
  EXPECT_TRUE(follows(Affine(10) - x(), facts));
  EXPECT_FALSE(follows(Affine(9) - x(), facts));
}

TEST_F(ImplicationTest, TwoFactsInARowAreEnough) {
  const Var last = vars_.add("z", {0, 1000});
  const Affine z = Affine::of(last);
  const std::vector<Condition> facts{{x() - y(), false}, {y() - z, false}};  // x >= y >= z
  EXPECT_TRUE(follows(x() - z, facts));
  EXPECT_FALSE(follows(x() - z - Affine(1), facts));
}

TEST_F(ImplicationTest, FloorDivisionsFollowTheirOperands) {
  const Affine quotient = vars_.floor_div(x() + y(), 4);
  const std::vector<Condition> facts{{Affine(7) - x() - y(), false}};
  EXPECT_TRUE(follows(Affine(1) - quotient, facts));
  EXPECT_FALSE(follows(Affine(0) - quotient, facts));
}

TEST_F(ImplicationTest, EqualitiesFollowFromEqualities) {
  const Affine remainder = vars_.mod(x() - y(), 64);
  const Implication implication(vars_);
  const std::vector<Condition> equal{{x() - y(), true}}, equal_remainder{{remainder, true}};
  EXPECT_TRUE(implication.holds({y() - x(), true}, equal));
  EXPECT_TRUE(implication.holds({remainder, true}, equal));
  EXPECT_TRUE(implication.holds({x() - y(), true}, equal_remainder));  // |x - y| < 64
  const std::vector<Condition> at_least{{x() - y(), false}};
  EXPECT_FALSE(implication.holds({x() - y(), true}, at_least));
}

}  // namespace
}  // namespace temper::nest
