#include "temper/search/space.h"

#include <algorithm>

#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper::search {
namespace {

const Design& design_of(const Space& space, const Candidate& candidate) {
  const std::vector<Design>& designs = space.designs();
  TEMPER_CHECK(candidate.design >= 0 && static_cast<std::size_t>(candidate.design) < designs.size(),
               "a candidate names a design that its space does not have");
  const Design& design = designs[static_cast<std::size_t>(candidate.design)];
  TEMPER_CHECK(candidate.choice.size() == design.knobs.size(),
               "a candidate has another number of knobs than its design");
  return design;
}

}  // namespace

int knob_index(const Design& design, std::string_view name) {
  for (std::size_t i = 0; i < design.knobs.size(); ++i) {
    if (design.knobs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::uint64_t Candidate::hash() const {
  std::uint64_t hash = mix64(static_cast<std::uint64_t>(design));
  for (const std::int32_t value : choice) hash = hash_combine(hash, static_cast<std::uint64_t>(value));
  return hash;
}

std::vector<std::int64_t> values(const Space& space, const Candidate& candidate) {
  const Design& design = design_of(space, candidate);
  std::vector<std::int64_t> result(candidate.choice.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::vector<std::int64_t>& domain = design.knobs[i].values;
    const std::int32_t choice = candidate.choice[i];
    TEMPER_CHECK(choice >= 0 && static_cast<std::size_t>(choice) < domain.size(),
                 "a candidate chooses a value past a knob's end");
    result[i] = domain[static_cast<std::size_t>(choice)];
  }
  return result;
}

record::CandidateRecord to_record(const Space& space, const Candidate& candidate) {
  const Design& design = design_of(space, candidate);
  const std::vector<std::int64_t> chosen = values(space, candidate);
  record::CandidateRecord result;
  result.design = design.name;
  for (std::size_t i = 0; i < chosen.size(); ++i) result.knobs.emplace_back(design.knobs[i].name, chosen[i]);
  return result;
}

Candidate from_record(const Space& space, const record::CandidateRecord& record) {
  const std::vector<Design>& designs = space.designs();
  const auto found =
      std::find_if(designs.begin(), designs.end(), [&](const Design& d) { return d.name == record.design; });
  if (found == designs.end()) {
    throw Error(ErrorCode::NotFound, "the space has no design '" + record.design + "'", record.design,
                "the record was written by another version of this space; tune again");
  }
  if (record.knobs.size() != found->knobs.size()) {
    throw Error(ErrorCode::NotFound,
                "the record sets " + std::to_string(record.knobs.size()) + " knobs, the design has " +
                    std::to_string(found->knobs.size()),
                record.design, "the record was written by another version of this space; tune again");
  }
  Candidate candidate;
  candidate.design = static_cast<int>(found - designs.begin());
  candidate.choice.assign(found->knobs.size(), -1);
  for (const auto& [name, value] : record.knobs) {
    const int position = knob_index(*found, name);
    if (position < 0 || candidate.choice[static_cast<std::size_t>(position)] >= 0) {
      throw Error(ErrorCode::NotFound,
                  position < 0 ? "the design has no knob '" + name + "'" : "the record sets knob '" + name + "' twice",
                  record.design, "the record was written by another version of this space; tune again");
    }
    const std::vector<std::int64_t>& domain = found->knobs[static_cast<std::size_t>(position)].values;
    const auto at = std::find(domain.begin(), domain.end(), value);
    if (at == domain.end()) {
      throw Error(ErrorCode::NotFound, "knob '" + name + "' no longer offers the value " + std::to_string(value),
                  record.design, "the record was written by another version of this space; tune again");
    }
    candidate.choice[static_cast<std::size_t>(position)] = static_cast<std::int32_t>(at - domain.begin());
  }
  return candidate;
}

}  // namespace temper::search
