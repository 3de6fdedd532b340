#include "temper/tune/task_space.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "temper/schedule/trace.h"
#include "temper/support/error.h"

namespace temper::tune {

std::string_view algorithm_of(std::string_view design) {
  const std::size_t slash = design.find('/');
  return slash == std::string_view::npos ? std::string_view() : design.substr(0, slash);
}

bool within_max_error(std::string_view design, const record::Measurement& measurement, double max_error) {
  return algorithm_of(design).empty() || (max_error > 0 && measurement.max_error <= max_error);
}

std::string beyond_max_error(const record::Measurement& measurement, double max_error) {
  std::ostringstream text;
  text << "it differs from the reference by " << measurement.max_error
       << " of the largest output; other algorithms may "
       << "differ by " << max_error;
  return text.str();
}

TaskSpace::TaskSpace(const Task& task, const target::Target& target, std::span<const space::Template> templates,
                     Algorithms algorithms) {
  const auto add = [&](const ir::Compute& compute, const std::string& prefix, std::span<const space::Template> usable) {
    spaces_.emplace_back(compute, target, usable);
    texts_.push_back(ir::print(compute));
    int number = 0;
    for (search::Design design : spaces_.back().designs()) {
      design.name = prefix + design.name;
      designs_.push_back(std::move(design));
      origins_.push_back({spaces_.size() - 1, number++});
    }
  };
  add(task.compute, "", templates);
  if (algorithms == Algorithms::Reference) return;
  std::vector<space::Template> specific;
  std::copy_if(templates.begin(), templates.end(), std::back_inserter(specific),
               [](const space::Template& candidate) { return !candidate.fallback; });
  for (const ops::Alternative& alternative : task.alternatives) {
    try {
      add(alternative.compute, alternative.algorithm + "/", specific);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
    }
  }
}

const std::string& TaskSpace::compute_text(const search::Candidate& candidate) const {
  return texts_[origin(candidate).space];
}

schedule::Schedule TaskSpace::materialise(const search::Candidate& candidate) const {
  return space_of(candidate).materialise({origin(candidate).design, candidate.choice});
}

BuildJob build_job(const TaskSpace& space, const search::Candidate& candidate, const schedule::Schedule& schedule) {
  return {space.compute_text(candidate), schedule::print(schedule.trace()), search::to_record(space, candidate).text()};
}

}  // namespace temper::tune
