#include "temper/space/recorded/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::space::recorded {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string value_of(const std::string& text, const std::vector<Value>& values = {}) {
  return Expression(text).evaluate(values).written();
}
std::string error_of(const std::string& text, const std::vector<Value>& values = {}) {
  try {
    return "gave " + value_of(text, values);
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
}
Value whole(std::int64_t value) { return {value}; }

TEST(Expression, ArithmeticIsPythons) {
  EXPECT_EQ(value_of("7 / 2"), "3.5");
  EXPECT_EQ(value_of("8 / 2 == 4"), "True");
  EXPECT_EQ(value_of("7 // 2"), "3");
  EXPECT_EQ(value_of("-7 // 2"), "-4");
  EXPECT_EQ(value_of("-7 % 3"), "2");
  EXPECT_EQ(value_of("7 % -3"), "-2");
  EXPECT_EQ(value_of("-7.5 % 2"), "0.5");
  EXPECT_EQ(value_of("7.5 // 2"), "3");
  EXPECT_EQ(value_of("32 % ((8 * 16) / 32) == 0"), "True");
  EXPECT_EQ(value_of("2 ** 3 ** 2"), "512");
  EXPECT_EQ(value_of("-2 ** 2"), "-4");
  EXPECT_EQ(value_of("2 ** -1"), "0.5");
  EXPECT_EQ(value_of("1 + 2 * 3 - 4"), "3");
  EXPECT_EQ(value_of("(1 + 2) * 3"), "9");
  EXPECT_EQ(value_of("1 << 4 | 3 & 6 ^ 1"), "19");
  EXPECT_EQ(value_of("True + 1"), "2");
  EXPECT_EQ(value_of("1e3 + .5"), "1000.5");
  EXPECT_EQ(value_of("~5"), "-6");
}

TEST(Expression, LogicIsPythons) {
  EXPECT_EQ(value_of("not 1 == 2 and 3 < 4 < 5"), "True");
  EXPECT_EQ(value_of("3 < 4 < 4"), "False");
  EXPECT_EQ(value_of("0 or 7"), "7");
  EXPECT_EQ(value_of("3 and 0"), "0");
  EXPECT_EQ(value_of("1 or 1 // 0"), "1");
  EXPECT_EQ(value_of("not not 5"), "True");
  EXPECT_EQ(value_of("1 if 0 else 2"), "2");
  EXPECT_EQ(value_of("3 in [1, 2, 3] and 4 not in (1, 2)"), "True");
  EXPECT_EQ(value_of("'a' == \"a\" and 'a' != 1"), "True");
  EXPECT_EQ(value_of("2 == 2.0 and True == 1"), "True");
}

TEST(Expression, ListsAndFunctions) {
  EXPECT_EQ(value_of("[1] + [2 * i for i in range(1, 4)]"), "[1, 2, 4, 6]");
  EXPECT_EQ(value_of("[i for i in range(10, 0, -3)]"), "[10, 7, 4, 1]");
  EXPECT_EQ(value_of("[x + i for i in range(3) if i != 1]", {whole(10)}), "[10, 12]");
  EXPECT_EQ(value_of("[[j for j in range(i)] for i in range(3)]"), "[[], [0], [0, 1]]");
  EXPECT_EQ(value_of("any(i > 2 for i in [1, 2, 3])"), "True");
  EXPECT_EQ(value_of("min(3, 1, 2) + max([4, 5]) + len([1, 1]) + abs(-3) + sum([1, 2])"), "14");
  EXPECT_EQ(value_of("round(2.5) + int(3.9) + round(3.5)"), "9");
  EXPECT_EQ(value_of("[4, 5, 6][-1]"), "6");
}

TEST(Expression, NamesAreFoundInOrder) {
  const Expression e("a * b <= 4 and b + c > a and all([i > d for i in [1, 2]])");
  EXPECT_THAT(e.names(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(e.evaluate(std::vector<Value>{whole(2), whole(2), whole(3), whole(0)}).truth(), true);
  EXPECT_EQ(e.evaluate(std::vector<Value>{whole(2), whole(3), whole(3), whole(0)}).truth(), false);
}

TEST(Expression, ConjunctsNeedFewerNamesAndHoldTogether) {
  const Expression e("1 <= a * b <= 6 and (c == 0 or d > 1) and not d == 3");
  const std::vector<Expression> parts = e.conjuncts();
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_THAT(parts[0].names(), ElementsAre("a", "b"));
  EXPECT_THAT(parts[1].names(), ElementsAre("a", "b"));
  EXPECT_THAT(parts[2].names(), ElementsAre("c", "d"));
  EXPECT_THAT(parts[3].names(), ElementsAre("d"));
  for (std::int64_t code = 0; code < 256; ++code) {
    const std::vector<Value> all{whole(code % 4), whole(code / 4 % 4), whole(code / 16 % 4), whole(code / 64)};
    bool together = true;
    for (const Expression& part : parts) {
      std::vector<Value> own;
      for (const std::string& name : part.names()) own.push_back(all[static_cast<std::size_t>(name[0] - 'a')]);
      together = together && part.evaluate(own).truth();
    }
    EXPECT_EQ(together, e.evaluate(all).truth()) << code;
  }
}

TEST(Expression, AConjunctKeepsWhatGuardsItFromFailing) {
  const std::vector<Expression> parts = Expression("c > 1 and a != 0 and b % a == 0").conjuncts();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].names().size(), 2u);  // not c, which guards nothing
  const bool a_first = parts[2].names()[0] == "a";
  EXPECT_FALSE(parts[2].evaluate(std::vector<Value>{whole(a_first ? 0 : 6), whole(a_first ? 6 : 0)}).truth());
  EXPECT_TRUE(parts[2].evaluate(std::vector<Value>{whole(a_first ? 3 : 6), whole(a_first ? 6 : 3)}).truth());
}

/// Random expressions over a, b and c.
std::string random_expression(RandomStream& random, int depth) {
  const auto sub = [&] { return random_expression(random, depth - 1); };
  if (depth == 0) {
    return random.chance(0.7) ? std::string(1, static_cast<char>('a' + random.below(3)))
                              : std::to_string(random.uniform_int(-3, 9));
  }
  static const std::vector<std::string> kBinary{"+",  "-", "*",  "/",  "//", "%",   "<",
                                                "<=", ">", ">=", "==", "!=", "and", "or"};
  switch (random.below(12)) {
    case 0: return "(not (" + sub() + "))";
    case 1: return "(-(" + sub() + "))";
    case 2: return "min(" + sub() + ", " + sub() + ")";
    case 3: return "max(" + sub() + ", abs(" + sub() + "))";
    case 4: return "(" + sub() + " if " + sub() + " else " + sub() + ")";
    case 5: return "(" + sub() + " < " + sub() + " <= " + sub() + ")";
    case 6: return "(" + sub() + " in [1, 2, 5])";
    default: return "((" + sub() + ") " + random.pick(kBinary) + " (" + sub() + "))";
  }
}

TEST(Expression, RangesNeverExcludeWhatHolds) {
  RandomStream random(11);
  int excluded = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Expression e(random_expression(random, static_cast<int>(random.uniform_int(1, 4))));
    std::vector<search::Bounds> bounds;
    std::vector<std::vector<std::int64_t>> domains;
    for (std::size_t i = 0; i < e.names().size(); ++i) {
      const std::int64_t low = random.uniform_int(-4, 6), high = low + random.uniform_int(0, 4);
      bounds.push_back({static_cast<double>(low), static_cast<double>(high)});
      domains.push_back({low, high});
    }
    if (e.may_hold(bounds)) continue;
    ++excluded;
    std::vector<Value> values(e.names().size());
    const std::function<void(std::size_t)> visit = [&](std::size_t at) {
      if (at == values.size()) {
        bool holds = false;
        try {
          holds = e.evaluate(values).truth();
        } catch (const Error&) {
          holds = false;  // a division by zero
        }
        EXPECT_FALSE(holds) << e.text();
        return;
      }
      for (std::int64_t v = domains[at][0]; v <= domains[at][1]; ++v) {
        values[at] = Value(v);
        visit(at + 1);
      }
    };
    visit(0);
  }
  EXPECT_GT(excluded, 200);
}

TEST(Expression, RangesExcludeWhatCannotHold) {
  const auto may_hold = [](const char* text, std::vector<search::Bounds> bounds) {
    return Expression(text).may_hold(bounds);
  };
  EXPECT_FALSE(may_hold("a * b <= 64", {{16, 16}, {8, 32}}));
  EXPECT_TRUE(may_hold("a * b <= 64", {{16, 16}, {4, 32}}));
  EXPECT_FALSE(may_hold("a + b + c == 10", {{7, 7}, {2, 5}, {2, 5}}));
  EXPECT_FALSE(may_hold("not (a < b or a == b)", {{1, 2}, {3, 9}}));
  EXPECT_FALSE(may_hold("a % b == 9", {{0, 3}, {4, 8}}));
  EXPECT_TRUE(may_hold("mode == 'x' and a > 1", {{-INFINITY, INFINITY}, {1, 2}}));
  EXPECT_FALSE(may_hold("mode == 'x' and a > 2", {{-INFINITY, INFINITY}, {1, 2}}));
}

TEST(Expression, ErrorsSayWhatAndWhere) {
  EXPECT_THAT(error_of("a <"), HasSubstr("invalid_argument: a value was expected, not 'the end'"));
  EXPECT_THAT(error_of("(1 + 2"), HasSubstr("')' was expected"));
  EXPECT_THAT(error_of("1 2"), HasSubstr("'2' was not expected"));
  EXPECT_THAT(error_of("1 $ 2"), HasSubstr("'$' is no part of an expression"));
  EXPECT_THAT(error_of("1 $ 2"), HasSubstr("column 3"));
  EXPECT_THAT(error_of("'abc"), HasSubstr("a text is not closed"));
  EXPECT_THAT(error_of(""), HasSubstr("a value was expected"));
  EXPECT_THAT(error_of("log2(8)"), HasSubstr("unsupported: the function 'log2' is not supported"));
  EXPECT_THAT(error_of("lambda"), HasSubstr("unsupported"));
  EXPECT_THAT(error_of("[i for i in [1] for j in [2]]"), HasSubstr("two `for`"));
  EXPECT_THAT(error_of("5 % x == 0", {whole(0)}), HasSubstr("a division by zero"));
  EXPECT_THAT(error_of("5 % x == 0", {whole(0)}), HasSubstr("\"5 % x == 0\" with x = 0"));
  EXPECT_THAT(error_of("'a' * 2"), HasSubstr("'*' cannot be used between a text and a number"));
  EXPECT_THAT(error_of("[1][3]"), HasSubstr("a list of 1 has no element 3"));
  EXPECT_THAT(error_of("9223372036854775807 + 1"), HasSubstr("more than 64 bits"));
  EXPECT_THAT(error_of("3 ** 50"), HasSubstr("more than 64 bits"));
  EXPECT_THAT(error_of(std::string(5000, '(') + "1"), HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(std::string(5000, '-') + "1"), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace temper::space::recorded
