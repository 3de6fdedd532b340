// Linear forms of index values: constant + sum of coefficient * value. They let all accesses of an unrolled body share
// one base register and differ in their displacement only.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "temper/lower/kernel.h"

namespace temper::codegen {

struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<lower::Value, std::int64_t>>
      terms;  ///< (value that is no sum itself, coefficient != 0), sorted by value

  static Linear of(std::int64_t constant) { return {constant, {}}; }
  static Linear of(lower::Value atom) { return {0, {{atom, 1}}}; }
  bool is_constant() const { return terms.empty(); }
  /// Whether it is that value and nothing else.
  bool is_atom(lower::Value v) const {
    return constant == 0 && terms.size() == 1 && terms[0].first == v && terms[0].second == 1;
  }
  bool operator==(const Linear&) const = default;
  auto operator<=>(const Linear&) const = default;
};

/// a + scale * b, wrapping. Nothing when the sum would have more than eight terms: such values are better kept as they
/// are.
std::optional<Linear> add(const Linear& a, const Linear& b, std::int64_t scale);
Linear scaled(const Linear& a, std::int64_t factor);

/// A vector of indices: one scalar form for all lanes, and a constant for each.
struct LaneLinear {
  Linear base;
  std::vector<std::int64_t> lanes;
};
std::optional<LaneLinear> add(const LaneLinear& a, const LaneLinear& b, std::int64_t scale);

/// Linear forms of the values of a kernel, recorded as instructions are visited.
class LinearForms {
 public:
  explicit LinearForms(const lower::Kernel& kernel)
      : kernel_(kernel), scalars_(kernel.types.size()), vectors_(kernel.types.size()) {}

  /// Form of an I64 scalar; the value itself when nothing better is known.
  const Linear& scalar(lower::Value v);
  /// Form of an I64 vector, if it has one.
  const std::optional<LaneLinear>& lanes(lower::Value v) const { return vectors_[static_cast<std::size_t>(v)]; }
  void set(lower::Value v, Linear form) { scalars_[static_cast<std::size_t>(v)] = std::move(form); }
  /// Notes the form of the instruction's result. True when it is a scalar whose form is not the value itself: it need
  /// not be computed unless it is used as such.
  bool visit(const lower::Instr& instr);

 private:
  std::optional<Linear> scalar_form(const lower::Instr& instr);
  std::optional<LaneLinear> vector_form(const lower::Instr& instr);

  const lower::Kernel& kernel_;
  std::vector<std::optional<Linear>> scalars_;
  std::vector<std::optional<LaneLinear>> vectors_;
};

}  // namespace temper::codegen
