// Affine integer forms over variables, with floor division and modulo as derived variables.
//
// A form is `constant + sum(coefficient * variable)`. `floor_div(a, d)` and `mod(a, d)` are simplified with the known
// ranges of the variables; what cannot be simplified becomes a derived variable of the same `VarSpace`, so that a form
// stays linear.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "temper/ir/compute.h"

namespace temper::analysis {

using Var = std::int32_t;

/// Closed interval of integers.
struct Interval {
  std::int64_t lo = 0, hi = 0;
  bool operator==(const Interval&) const = default;
};

struct Term {
  Var var;
  std::int64_t coefficient;
  bool operator==(const Term&) const = default;
};

/// A value type; terms are sorted by variable and have no zero coefficients.
struct Affine {
  std::int64_t constant = 0;
  std::vector<Term> terms;

  Affine() = default;
  Affine(std::int64_t value) : constant(value) {}  // NOLINT(google-explicit-constructor): numbers are forms
  static Affine of(Var var, std::int64_t coefficient = 1);
  bool is_constant() const { return terms.empty(); }
  std::int64_t coefficient(Var var) const;
  bool operator==(const Affine&) const = default;

  Affine& operator+=(const Affine& other);
  Affine& operator*=(std::int64_t scale);
  Affine& add_scaled(const Affine& other, std::int64_t scale);
};
Affine operator+(Affine a, const Affine& b);
Affine operator-(Affine a, const Affine& b);
Affine operator*(Affine a, std::int64_t scale);

/// floor(a / b) and the remainder of the same sign as `b` (b > 0).
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a - floor_div(a, b) * b; }
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

enum class VarKind : std::uint8_t { Loop, FloorDiv, Mod };

struct VarInfo {
  std::string name;
  Interval range;
  VarKind kind = VarKind::Loop;
  Affine operand;            ///< derived variables only
  std::int64_t divisor = 1;  ///< derived variables only
};

/// Owns variables and what is known about them.
class VarSpace {
 public:
  Var add(std::string name, Interval range);
  const VarInfo& operator[](Var var) const { return infos_[static_cast<std::size_t>(var)]; }
  std::size_t size() const { return infos_.size(); }

  Interval range(const Affine& form) const;
  /// floor(a / divisor), divisor > 0.
  Affine floor_div(const Affine& a, std::int64_t divisor);
  /// a - divisor * floor(a / divisor), divisor > 0.
  Affine mod(const Affine& a, std::int64_t divisor);
  /// Puts together what a division took apart: c*d * floor(a / d) + c * mod(a, d) becomes c * a.
  Affine rejoin(Affine form) const;
  /// Replaces variables (`value(var)` empty: keep) and simplifies derived variables again.
  Affine substitute(const Affine& form, const std::function<const Affine*(Var)>& value);
  /// Whether `form` depends on `var`, through derived variables too.
  bool depends_on(const Affine& form, Var var) const;

 private:
  Var derived(VarKind kind, Affine operand, std::int64_t divisor);
  std::vector<VarInfo> infos_;
};

/// A condition on a form: form >= 0, or form == 0.
struct Condition {
  Affine form;
  bool equality = false;
  bool operator==(const Condition&) const = default;
};

/// Values of axes during a conversion; null when the axis is unknown.
using AxisValue = std::function<const Affine*(const ir::AxisNode*)>;

/// The form of an integer expression, or nothing when it is not affine (with div and mod by constants).
std::optional<Affine> to_affine(const ir::Expr& expr, const AxisValue& value, VarSpace& vars);

/// Splits a boolean expression into affine conditions joined by "and"; nothing when some part is not of that form.
std::optional<std::vector<Condition>> to_conditions(const ir::Expr& expr, const AxisValue& value, VarSpace& vars);

/// Conditions that hold whenever `expr` has the value `truth`. Parts that are not affine contribute nothing.
std::vector<Condition> implied_conditions(const ir::Expr& expr, bool truth, const AxisValue& value, VarSpace& vars);

/// Truth of a condition over all values of its variables: true, false, or nothing when it varies.
std::optional<bool> decide(const Condition& condition, const VarSpace& vars);

std::string print(const Affine& form, const VarSpace& vars);

}  // namespace temper::analysis
