// What each stage reads, and which box of a producer a set of iterations needs.
#pragma once

#include <optional>
#include <vector>

#include "temper/nest/program.h"

namespace temper::nest {

/// Indices [base, base + extent) along one axis.
struct Range {
  Affine base;
  std::int64_t extent = 1;
};

/// Forms of every stage that is computed (empty for placeholders and inlined stages).
std::vector<StageForms> stage_forms(const schedule::Schedule& schedule, VarSpace& vars);

/// Box of a form when each axis variable runs over a range. `axis(var)` gives the range of an axis variable; other
/// variables stand for themselves. Exact for affine forms in which an axis occurs once; otherwise a superset.
Range box_of(const Affine& form, const std::vector<Range>& axes, const std::vector<Var>& axis_vars, VarSpace& vars);

/// Grows `box` to cover `other`; takes the whole domain where the bases differ by more than a constant.
void unite(std::vector<Range>& box, const std::vector<Range>& other, const std::vector<std::int64_t>& domain);

}  // namespace temper::nest
