// What follows from conditions that are known to hold.
#pragma once

#include <cstdint>
#include <span>

#include "temper/analysis/affine.h"

namespace temper::nest {

using analysis::Affine;
using analysis::Condition;

/// Sound, not complete: what it cannot derive may be true all the same.
class Implication {
 public:
  explicit Implication(const analysis::VarSpace& vars) : vars_(vars) {}

  /// Whether `condition` follows from the ranges of the variables and the facts.
  bool holds(const Condition& condition, std::span<const Condition> facts) const;
  /// The same of form >= 0.
  bool nonnegative(const Affine& form, std::span<const Condition> facts) const {
    return nonnegative(form, facts, kMostUses);
  }

 private:
  static constexpr int kMostUses = 2;  ///< of facts, in a row
  bool nonnegative(const Affine& form, std::span<const Condition> facts, int uses) const;
  /// A lower bound of the form in which each floor division is bounded by what the facts say of its operand.
  std::int64_t least(const Affine& form, std::span<const Condition> facts) const;
  /// `a` when the form is a % d or its negation.
  const Affine* remainder_operand(const Affine& form) const;

  const analysis::VarSpace& vars_;
};

}  // namespace temper::nest
