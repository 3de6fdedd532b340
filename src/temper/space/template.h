// Schedule templates: C++ functions over a `Schedule` that declare knobs.
//
// A template runs twice: once to declare its knobs and constraints (every knob gives its default), and once per
// candidate (every knob gives the candidate's value). It sees the compute definition through the schedule and knows no
// operator.
//
//   void tiled(Schedule& s, Knobs& knobs) {
//     const auto tile = knobs.choice("tile", {1, 2, 4, 8}, 4);
//     knobs.require("register file", {"tile"}, [](auto v) { return v[0] <= 28; });
//     if (knobs.declaring()) return;                     // nothing to schedule yet
//     const auto m = s.split(s.loop("C", "m"), {tile}, Tail::Balance);
//     …
//   }
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "temper/schedule/schedule.h"
#include "temper/search/space.h"
#include "temper/target/cpu.h"

namespace temper::space {

/// What a template reads its knobs from.
class Knobs {
 public:
  /// Declares a knob, or returns its value. `values` must not be empty; `default_value` must be one of them (or the
  /// nearest is taken). Throws Error{Internal} when a candidate has no value for it.
  std::int64_t choice(const std::string& name, std::vector<std::int64_t> values, std::int64_t default_value);
  /// Declares a constraint over knobs that were declared before.
  void require(const std::string& name, std::vector<std::string> knobs,
               std::function<bool(std::span<const std::int64_t>)> holds);
  bool declaring() const { return values_ == nullptr; }

 private:
  friend class ScheduleSpace;
  search::Design* design_ = nullptr;  ///< declaring
  std::vector<std::int64_t> defaults_;
  const search::Design* declared_ = nullptr;  ///< applying
  const std::vector<std::int64_t>* values_ = nullptr;
};

/// What schedules candidates is called by several threads at once and must not change what they share.
struct Template {
  std::string name;
  /// Whether the template can schedule this definition.
  std::function<bool(const ir::Compute&, const target::Target&)> applies = {};
  std::function<void(schedule::Schedule&, Knobs&, const target::Target&)> apply = {};
  /// Instead of the two above, for templates that analyse the definition: runs once for a space and returns what
  /// schedules each candidate, or nothing when the template does not apply.
  std::function<std::function<void(schedule::Schedule&, Knobs&)>(const ir::Compute&, const target::Target&)>
      specialise = {};
  /// Schedules anything, nothing well: no reason to try an alternative definition.
  bool fallback = false;
};

/// The templates that ship with Temper, most specific first; the last one applies to everything.
std::span<const Template> builtin_templates();

/// The space of one definition on one target: a design per template that applies.
class ScheduleSpace : public search::Space {
 public:
  /// Uses `templates` (default: the built-in ones). Throws Error{Unsupported} when none applies.
  ScheduleSpace(ir::Compute compute, target::Target target, std::span<const Template> templates = builtin_templates());

  const std::vector<search::Design>& designs() const override { return designs_; }
  const ir::Compute& compute() const { return compute_; }
  const target::Target& target() const { return target_; }
  /// The schedule of a candidate. Throws ScheduleError when a primitive refuses.
  schedule::Schedule materialise(const search::Candidate& candidate) const;
  /// The untuned choice: the most specific design whose default knobs can be moved to a valid candidate, there.
  /// Throws Error{Unsupported} when no design has one.
  search::Candidate default_candidate() const;

 private:
  ir::Compute compute_;
  target::Target target_;
  std::vector<std::function<void(schedule::Schedule&, Knobs&)>> apply_;  ///< of the designs, same order
  std::vector<search::Design> designs_;
  std::vector<std::vector<std::int64_t>> defaults_;
};

}  // namespace temper::space
