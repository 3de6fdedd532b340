// Everything that may be built for a task: the designs of its reference definition, then those of each alternative.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "temper/schedule/schedule.h"
#include "temper/search/space.h"
#include "temper/space/template.h"
#include "temper/target/cpu.h"
#include "temper/tune/hardware_test.h"
#include "temper/tune/task.h"

namespace temper::tune {

/// Splits the design name of an alternative, `algorithm/template`; the algorithm is empty for the reference definition.
std::string_view algorithm_of(std::string_view design);

/// Whether a design with this measurement may be used where alternatives may differ from the reference by `max_error`:
/// those of the reference definition always, an alternative when its measured error is no larger; none with 0.
bool within_max_error(std::string_view design, const record::Measurement& measurement, double max_error);
/// Why it may not, in words.
std::string beyond_max_error(const record::Measurement& measurement, double max_error);

class TaskSpace : public search::Space {
 public:
  enum class Algorithms : std::uint8_t { All, Reference };  ///< Reference: no alternatives
  /// Throws Error{Unsupported} when no template applies to the reference definition; an alternative without a template
  /// of its own kind (`space::Template::fallback` does not count) is left out.
  TaskSpace(const Task& task, const target::Target& target, std::span<const space::Template> templates,
            Algorithms algorithms = Algorithms::All);

  const std::vector<search::Design>& designs() const override { return designs_; }
  /// The definition that a candidate schedules, and its text form.
  const ir::Compute& compute(const search::Candidate& candidate) const { return space_of(candidate).compute(); }
  const std::string& compute_text(const search::Candidate& candidate) const;
  /// Throws as `space::ScheduleSpace::materialise`.
  schedule::Schedule materialise(const search::Candidate& candidate) const;
  /// The untuned choice, of the reference definition. Throws as `space::ScheduleSpace::default_candidate`.
  search::Candidate default_candidate() const { return spaces_.front().default_candidate(); }

 private:
  struct Origin {
    std::size_t space;
    int design;
  };
  const Origin& origin(const search::Candidate& candidate) const {
    return origins_[static_cast<std::size_t>(candidate.design)];
  }
  const space::ScheduleSpace& space_of(const search::Candidate& candidate) const {
    return spaces_[origin(candidate).space];
  }

  std::vector<space::ScheduleSpace> spaces_;  ///< the reference definition's first
  std::vector<std::string> texts_;            ///< of their definitions
  std::vector<search::Design> designs_;
  std::vector<Origin> origins_;  ///< of each design
};

/// What a builder is told of a candidate of `space`, whose schedule is `schedule`.
BuildJob build_job(const TaskSpace& space, const search::Candidate& candidate, const schedule::Schedule& schedule);

}  // namespace temper::tune
