#include "temper/space/template.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "temper/search/enumeration.h"
#include "temper/support/error.h"

namespace temper::space {

std::int64_t Knobs::choice(const std::string& name, std::vector<std::int64_t> values, std::int64_t default_value) {
  TEMPER_CHECK(!values.empty(), "a knob has no values: " + name);
  if (design_ != nullptr) {
    const auto nearest = *std::min_element(values.begin(), values.end(), [&](std::int64_t a, std::int64_t b) {
      return std::llabs(a - default_value) < std::llabs(b - default_value);
    });
    design_->knobs.push_back({name, std::move(values)});
    defaults_.push_back(nearest);
    return nearest;
  }
  for (std::size_t i = 0; i < declared_->knobs.size(); ++i) {
    if (declared_->knobs[i].name == name) return (*values_)[i];
  }
  TEMPER_CHECK(false, "a template asks for a knob that it did not declare: " + name);
}

void Knobs::require(const std::string& name, std::vector<std::string> knobs,
                    std::function<bool(std::span<const std::int64_t>)> holds) {
  if (design_ != nullptr) design_->constraints.push_back({name, std::move(knobs), std::move(holds)});
}

namespace {

/// The first constraint that the values at `choice` break.
const search::Constraint* broken_constraint(const search::Design& design, const std::vector<std::int32_t>& choice) {
  for (const search::Constraint& constraint : design.constraints) {
    std::vector<std::int64_t> arguments;
    for (const std::string& name : constraint.knobs) {
      for (std::size_t i = 0; i < design.knobs.size(); ++i) {
        if (design.knobs[i].name == name)
          arguments.push_back(design.knobs[i].values[static_cast<std::size_t>(choice[i])]);
      }
    }
    if (!constraint.holds(arguments)) return &constraint;
  }
  return nullptr;
}

/// The default values, moved until every constraint holds; nothing, and the reason added to `why`, when none is left.
std::optional<std::vector<std::int32_t>> shrink_to_valid(const search::Design& design,
                                                         const std::vector<std::int64_t>& defaults, std::string& why) {
  std::vector<std::int32_t> choice;
  for (std::size_t i = 0; i < design.knobs.size(); ++i) {
    const auto& values = design.knobs[i].values;
    choice.push_back(static_cast<std::int32_t>(std::find(values.begin(), values.end(), defaults[i]) - values.begin()));
  }
  // Walk broken constraints towards smaller values of their knobs, widest first: defaults are tiles, and tiles shrink.
  while (const search::Constraint* constraint = broken_constraint(design, choice)) {
    std::size_t widest = design.knobs.size();
    for (std::size_t i = 0; i < design.knobs.size(); ++i) {
      const bool involved = std::find(constraint->knobs.begin(), constraint->knobs.end(), design.knobs[i].name) !=
                            constraint->knobs.end();
      if (involved && choice[i] > 0 && (widest == design.knobs.size() || choice[i] > choice[widest])) widest = i;
    }
    if (widest == design.knobs.size()) {
      why += "; " + design.name + ": '" + constraint->name + "' cannot hold";
      return std::nullopt;
    }
    --choice[widest];
  }
  return choice;
}

}  // namespace

ScheduleSpace::ScheduleSpace(ir::Compute compute, target::Target target, std::span<const Template> templates)
    : compute_(std::move(compute)), target_(std::move(target)) {
  for (const Template& candidate : templates) {
    std::function<void(schedule::Schedule&, Knobs&)> apply;
    if (candidate.specialise) {
      apply = candidate.specialise(compute_, target_);
      if (!apply) continue;
    } else {
      if (!candidate.applies(compute_, target_)) continue;
      apply = [general = candidate.apply, machine = target_](schedule::Schedule& s, Knobs& knobs) {
        general(s, knobs, machine);
      };
    }
    search::Design design;
    design.name = candidate.name;
    Knobs knobs;
    knobs.design_ = &design;
    schedule::Schedule schedule(compute_);
    apply(schedule, knobs);
    apply_.push_back(std::move(apply));
    designs_.push_back(std::move(design));
    defaults_.push_back(std::move(knobs.defaults_));
  }
  if (designs_.empty()) {
    throw Error(ErrorCode::Unsupported, "no template applies to this definition",
                "output " + compute_.outputs.front()->name, "register a template for it");
  }
}

schedule::Schedule ScheduleSpace::materialise(const search::Candidate& candidate) const {
  const std::vector<std::int64_t> values = search::values(*this, candidate);
  const auto design = static_cast<std::size_t>(candidate.design);
  Knobs knobs;
  knobs.declared_ = &designs_[design];
  knobs.values_ = &values;
  schedule::Schedule schedule(compute_);
  apply_[design](schedule, knobs);
  return schedule;
}

search::Candidate ScheduleSpace::default_candidate() const {
  std::string broken;
  for (std::size_t design = 0; design < designs_.size(); ++design) {
    if (auto choice = shrink_to_valid(designs_[design], defaults_[design], broken))
      return {static_cast<std::int32_t>(design), std::move(*choice)};
  }
  throw Error(ErrorCode::Unsupported, "no design has a valid default" + broken,
              "output " + compute_.outputs.front()->name);
}

}  // namespace temper::space
