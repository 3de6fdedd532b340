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

/// One read of a stage's definition: index forms over the reader's axis variables; empty where the index is not affine.
struct ReadForm {
  int producer = -1;
  std::vector<std::optional<Affine>> index;
};

/// A stage's definition in affine terms, through inlined stages.
struct StageForms {
  std::vector<Var> axis_vars;         ///< spatial axes, then reduce axes
  std::vector<ReadForm> reads;        ///< without duplicates
  std::vector<int> producers;         ///< stages that body and conditions read, each once, through inlined stages
  std::vector<int> init_producers;    ///< stages that the initial values read
  std::vector<Condition> conditions;  ///< affine parts of `where`
  std::vector<int> opaque;            ///< `where` expressions that are not affine
  std::vector<Condition> choices;     ///< affine conditions of `select`: cuts of its own loops; none when too many
};

/// Forms of every stage that is computed (empty for placeholders and inlined stages).
std::vector<StageForms> stage_forms(const schedule::Schedule& schedule, VarSpace& vars);

/// Box of a form when each axis variable runs over a range. `axis(var)` gives the range of an axis variable; other
/// variables stand for themselves. Exact for affine forms in which an axis occurs once; otherwise a superset.
Range box_of(const Affine& form, const std::vector<Range>& axes, const std::vector<Var>& axis_vars, VarSpace& vars);

/// Grows `box` to cover `other`; takes the whole domain where the bases differ by more than a constant.
void unite(std::vector<Range>& box, const std::vector<Range>& other, const std::vector<std::int64_t>& domain);

}  // namespace temper::nest
