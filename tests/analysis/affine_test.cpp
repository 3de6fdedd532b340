// Affine forms against brute force: every simplification keeps the value at every point of the variables' ranges.
#include "temper/analysis/affine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "temper/support/random.h"

namespace temper::analysis {
namespace {

/// Two or three variables with small ranges.
struct Space {
  VarSpace vars;
  std::vector<Var> loops;
};

Space random_space(RandomStream& random) {
  Space space;
  const auto count = random.uniform_int(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t lo = random.uniform_int(-4, 4);
    space.loops.push_back(space.vars.add("v" + std::to_string(i), {lo, lo + random.uniform_int(0, 6)}));
  }
  return space;
}

/// A form and, beside it, its value computed the long way.
using Point = std::vector<std::int64_t>;
struct Pair {
  Affine form;
  std::function<std::int64_t(const Point&)> value;
};

Pair random_form(Space& space, RandomStream& random, int depth) {
  if (depth == 0 || random.chance(0.3)) {
    if (random.chance(0.3)) {
      const std::int64_t c = random.uniform_int(-9, 9);
      return {Affine(c), [c](const Point&) { return c; }};
    }
    const auto at = static_cast<std::size_t>(random.below(space.loops.size()));
    return {Affine::of(space.loops[at]), [at](const Point& p) { return p[at]; }};
  }
  const Pair a = random_form(space, random, depth - 1);
  switch (random.uniform_int(0, 4)) {
    case 0: {
      const Pair b = random_form(space, random, depth - 1);
      return {a.form + b.form, [a, b](const Point& p) { return a.value(p) + b.value(p); }};
    }
    case 1: {
      const Pair b = random_form(space, random, depth - 1);
      return {a.form - b.form, [a, b](const Point& p) { return a.value(p) - b.value(p); }};
    }
    case 2: {
      const std::int64_t c = random.uniform_int(-4, 4);
      return {a.form * c, [a, c](const Point& p) { return a.value(p) * c; }};
    }
    case 3: {
      const std::int64_t d = random.uniform_int(1, 6);
      return {space.vars.floor_div(a.form, d), [a, d](const Point& p) { return floor_div(a.value(p), d); }};
    }
    default: {
      const std::int64_t d = random.uniform_int(1, 6);
      return {space.vars.mod(a.form, d), [a, d](const Point& p) { return floor_mod(a.value(p), d); }};
    }
  }
}

std::int64_t evaluate(const Affine& form, const Space& space, const Point& point) {
  std::int64_t sum = form.constant;
  for (const Term& term : form.terms) {
    const VarInfo& info = space.vars[term.var];
    std::int64_t v = 0;
    if (info.kind == VarKind::Loop) {
      v = point[static_cast<std::size_t>(std::find(space.loops.begin(), space.loops.end(), term.var) -
                                         space.loops.begin())];
    } else {
      const std::int64_t operand = evaluate(info.operand, space, point);
      v = info.kind == VarKind::FloorDiv ? floor_div(operand, info.divisor) : floor_mod(operand, info.divisor);
    }
    sum += term.coefficient * v;
  }
  return sum;
}

template <class Visit>
void for_each_point(const Space& space, Visit&& visit) {
  Point point;
  for (Var v : space.loops) point.push_back(space.vars[v].range.lo);
  while (true) {
    visit(point);
    std::size_t digit = 0;
    while (digit < point.size() && ++point[digit] > space.vars[space.loops[digit]].range.hi) {
      point[digit] = space.vars[space.loops[digit]].range.lo;
      ++digit;
    }
    if (digit == point.size()) return;
  }
}

TEST(Affine, FormsKeepTheirValueAndStayInRange) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomStream random(seed);
    Space space = random_space(random);
    const Pair pair = random_form(space, random, 4);
    const Interval range = space.vars.range(pair.form);
    for_each_point(space, [&](const Point& p) {
      const std::int64_t v = evaluate(pair.form, space, p);
      ASSERT_EQ(v, pair.value(p)) << seed;
      ASSERT_LE(range.lo, v) << seed;
      ASSERT_LE(v, range.hi) << seed;
    });
    for (std::size_t i = 1; i < pair.form.terms.size(); ++i)
      ASSERT_LT(pair.form.terms[i - 1].var, pair.form.terms[i].var) << seed;
    for (const Term& term : pair.form.terms) ASSERT_NE(term.coefficient, 0) << seed;
  }
}

TEST(Affine, SubstitutionKeepsTheValue) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomStream random(seed);
    Space space = random_space(random);
    const Pair pair = random_form(space, random, 4);
    // The first variable becomes its lower bound.
    const Affine lowest(space.vars[space.loops[0]].range.lo);
    const Affine replaced = space.vars.substitute(
        pair.form, [&](Var v) { return v == space.loops[0] ? &lowest : static_cast<const Affine*>(nullptr); });
    ASSERT_FALSE(space.vars.depends_on(replaced, space.loops[0])) << seed;
    for_each_point(space, [&](const Point& p) {
      Point at = p;
      at[0] = lowest.constant;
      ASSERT_EQ(evaluate(replaced, space, p), pair.value(at)) << seed;
    });
  }
}

TEST(Affine, DecisionsHoldEverywhere) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomStream random(seed);
    Space space = random_space(random);
    const Condition condition{random_form(space, random, 3).form, random.chance(0.3)};
    const std::optional<bool> truth = decide(condition, space.vars);
    for_each_point(space, [&](const Point& p) {
      const std::int64_t v = evaluate(condition.form, space, p);
      const bool holds = condition.equality ? v == 0 : v >= 0;
      ASSERT_EQ(truth.value_or(holds), holds) << seed;
    });
  }
}

TEST(Affine, DivisionsOfOneStrideSimplify) {
  VarSpace vars;
  const Var o = vars.add("o", {0, 9}), i = vars.add("i", {0, 15});
  const Affine at = Affine::of(o, 16) + Affine::of(i);
  EXPECT_EQ(vars.floor_div(at, 16), Affine::of(o));
  EXPECT_EQ(vars.mod(at, 16), Affine::of(i));
  EXPECT_EQ(vars.floor_div(at, 8), Affine::of(o, 2) + vars.floor_div(Affine::of(i), 8));
  EXPECT_EQ(vars.mod(at + Affine(32), 16), Affine::of(i));
  EXPECT_EQ(print(vars.mod(at + Affine(3), 16), vars), "((i + 3) % 16)");
  EXPECT_EQ(vars.size(), 4U) << "one variable for i / 8, one for (i + 3) % 16";
  vars.mod(at + Affine(3), 16);
  EXPECT_EQ(vars.size(), 4U) << "an equal division is the same variable";
}

TEST(Affine, RejoiningKeepsTheValue) {
  RandomStream random(31);
  int joined = 0;
  for (int round = 0; round < 500; ++round) {
    Space space = random_space(random);
    const Pair a = random_form(space, random, 2), other = random_form(space, random, 1);
    const std::int64_t d = random.uniform_int(2, 7), c = random.uniform_int(-3, 3);
    const Affine apart = space.vars.floor_div(a.form, d) * (c * d) + space.vars.mod(a.form, d) * c + other.form;
    const Affine whole = space.vars.rejoin(apart);
    joined += whole == apart ? 0 : 1;
    for_each_point(space, [&](const Point& point) {
      EXPECT_EQ(evaluate(whole, space, point), c * a.value(point) + other.value(point)) << print(apart, space.vars);
    });
  }
  EXPECT_GT(joined, 100);
}

TEST(Affine, RejoiningTakesSeveralSteps) {
  VarSpace vars;
  const Affine f = Affine::of(vars.add("f", {0, 209}));  // 6 x 5 x 7, taken apart twice
  const Affine outer = vars.floor_div(f, 7), inner = vars.mod(f, 7);
  EXPECT_EQ(vars.rejoin(vars.floor_div(outer, 5) * 35 + vars.mod(outer, 5) * 7 + inner), f);
  const Affine another_stride = vars.floor_div(f, 7) * 8 + inner;
  EXPECT_EQ(vars.rejoin(another_stride), another_stride);
}

TEST(Affine, Text) {
  VarSpace vars;
  const Var a = vars.add("a", {0, 9}), b = vars.add("b", {0, 9});
  EXPECT_EQ(print(Affine(0), vars), "0");
  EXPECT_EQ(print(Affine(-3), vars), "-3");
  EXPECT_EQ(print(Affine::of(a, -1) + Affine::of(b, 2) + Affine(5), vars), "-a + 2*b + 5");
  EXPECT_EQ(print(Affine::of(a) - Affine::of(b) - Affine(5), vars), "a - b - 5");
  EXPECT_EQ(print(vars.floor_div(Affine::of(a) + Affine::of(b), 3) * 2, vars), "2*((a + b) / 3)");
}

/// Axes x in [0, 8) and y in [0, 5), as forms.
struct Axes {
  VarSpace vars;
  ir::Axis x{"x", 8}, y{"y", 5};
  Affine fx = Affine::of(vars.add("x", {0, 7})), fy = Affine::of(vars.add("y", {0, 4}));
  AxisValue value = [this](const ir::AxisNode* axis) -> const Affine* {
    return axis == x.get() ? &fx : axis == y.get() ? &fy : nullptr;
  };
};

TEST(Affine, ExpressionsBecomeForms) {
  Axes a;
  const auto form = to_affine((a.x + 1) * 2 - ir::mod(a.y + 3, 2), a.value, a.vars);
  ASSERT_TRUE(form);
  EXPECT_EQ(print(*form, a.vars), "2*x - ((y + 1) % 2) + 2");
  EXPECT_FALSE(to_affine(ir::Expr(a.x) * a.y, a.value, a.vars));
  EXPECT_FALSE(to_affine(ir::floor_div(a.x, a.y), a.value, a.vars));
  EXPECT_FALSE(to_affine(ir::max(a.x, a.y), a.value, a.vars));
  EXPECT_FALSE(to_affine(ir::Expr(ir::Axis("z", 3)), a.value, a.vars));
}

std::string text(const std::vector<Condition>& conditions, const VarSpace& vars) {
  std::string out;
  for (const Condition& c : conditions)
    out += (out.empty() ? "" : ", ") + print(c.form, vars) + (c.equality ? " == 0" : " >= 0");
  return out;
}

TEST(Affine, ConditionsAreExactOrNothing) {
  Axes a;
  const auto conditions = to_conditions(a.x < a.y && ir::mod(a.x, 2) == 1, a.value, a.vars);
  ASSERT_TRUE(conditions);
  EXPECT_EQ(text(*conditions, a.vars), "-x + y - 1 >= 0, -((x) % 2) + 1 == 0");
  EXPECT_FALSE(to_conditions(a.x < a.y || a.x == 3, a.value, a.vars));
  EXPECT_FALSE(to_conditions(a.x != 3, a.value, a.vars));
}

TEST(Affine, ImpliedConditions) {
  Axes a;
  const auto implied = [&](const ir::Expr& e, bool truth) {
    return text(implied_conditions(e, truth, a.value, a.vars), a.vars);
  };
  EXPECT_EQ(implied(a.x < 3, true), "-x + 2 >= 0");
  EXPECT_EQ(implied(a.x < 3, false), "x - 3 >= 0");
  EXPECT_EQ(implied(a.x >= 3 && a.y > 1, true), "x - 3 >= 0, y - 2 >= 0");
  EXPECT_EQ(implied(a.x >= 3 && a.y > 1, false), "") << "either may be false";
  EXPECT_EQ(implied(a.x >= 3 || a.y > 1, false), "-x + 2 >= 0, -y + 1 >= 0");
  EXPECT_EQ(implied(a.x >= 3 || a.y > 1, true), "");
  EXPECT_EQ(implied(ir::Expr(a.x) == 3, true), "-x + 3 == 0");
  EXPECT_EQ(implied(ir::Expr(a.x) == 3, false), "");
  EXPECT_EQ(implied(a.x != 3, false), "-x + 3 == 0");
  EXPECT_EQ(implied(ir::unary(ir::UnaryOp::Not, a.x < 3), true), "x - 3 >= 0");
}

TEST(Affine, ImpliedConditionsHold) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomStream random(seed);
    Axes a;
    const std::function<ir::Expr(int)> condition = [&](int depth) -> ir::Expr {
      if (depth > 0 && random.chance(0.6)) {
        const ir::Expr left = condition(depth - 1), right = condition(depth - 1);
        return random.chance(0.5) ? left && right : left || right;
      }
      const ir::Expr left = a.x * random.uniform_int(-2, 2) + a.y * random.uniform_int(-2, 2);
      return ir::binary(static_cast<ir::BinaryOp>(static_cast<int>(ir::BinaryOp::Lt) + random.uniform_int(0, 5)), left,
                        ir::Expr(random.uniform_int(-5, 9)));
    };
    const ir::Expr e = condition(3);
    const std::function<bool(const ir::Expr&, std::int64_t, std::int64_t)> holds =
        [&](const ir::Expr& at, std::int64_t x, std::int64_t y) -> bool {
      if (at->binary == ir::BinaryOp::And) return holds(at->args[0], x, y) && holds(at->args[1], x, y);
      if (at->binary == ir::BinaryOp::Or) return holds(at->args[0], x, y) || holds(at->args[1], x, y);
      const auto number = [&](const ir::Expr& side) {
        const Affine f = *to_affine(side, a.value, a.vars);
        return f.constant + f.coefficient(a.fx.terms[0].var) * x + f.coefficient(a.fy.terms[0].var) * y;
      };
      const std::int64_t l = number(at->args[0]), r = number(at->args[1]);
      switch (at->binary) {
        case ir::BinaryOp::Lt: return l < r;
        case ir::BinaryOp::Le: return l <= r;
        case ir::BinaryOp::Gt: return l > r;
        case ir::BinaryOp::Ge: return l >= r;
        case ir::BinaryOp::Eq: return l == r;
        default: return l != r;
      }
    };
    if (e->kind != ir::ExprKind::Binary) continue;  // folded to a literal
    for (std::int64_t x = 0; x < 8; ++x) {
      for (std::int64_t y = 0; y < 5; ++y) {
        for (const Condition& c : implied_conditions(e, holds(e, x, y), a.value, a.vars)) {
          const std::int64_t v =
              c.form.constant + c.form.coefficient(a.fx.terms[0].var) * x + c.form.coefficient(a.fy.terms[0].var) * y;
          ASSERT_TRUE(c.equality ? v == 0 : v >= 0) << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace temper::analysis
