#include "temper/space/recorded/recorded_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

std::vector<search::Design> to_designs(const Recording& recording) {
  search::Design design{recording.name, {}, {}};
  for (const Parameter& parameter : recording.parameters) design.knobs.push_back(to_knob(parameter));
  for (const Entry& entry : recording.entries) design.listed.push_back(entry.choice);
  std::vector<search::Design> designs;
  designs.push_back(std::move(design));
  return designs;
}

/// Without the endings that say how it is written.
std::string name_of(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  for (const char* ending : {".gz", ".json"}) {
    if (name.ends_with(ending)) name.resize(name.size() - std::string_view(ending).size());
  }
  return name;
}

struct NamedDescription {
  Description description;
  std::string file;
};

/// The description of a recording, if there is one.
const NamedDescription* find_description(const std::vector<NamedDescription>& descriptions,
                                         const Recording& recording) {
  const NamedDescription* found = nullptr;
  for (const NamedDescription& one : descriptions) {
    if (!describes(one.description, recording)) continue;
    if (found != nullptr) {
      throw Error(ErrorCode::InvalidArgument, fmt::format("two files describe the recording '{}'", recording.name),
                  found->file + " and " + one.file, "give one of them");
    }
    found = &one;
  }
  return found;
}

}  // namespace

RecordedSpace::RecordedSpace(Recording recording)
    : recording_(std::move(recording)), designs_(to_designs(recording_)), index_(*this) {
  outcomes_.resize(static_cast<std::size_t>(index_.size()));
  for (const Entry& entry : recording_.entries) {
    const std::optional<std::uint64_t> number = index_.index_of({0, entry.choice});
    TEMPER_CHECK(number.has_value(), "a recorded configuration is missing in its own space");
    outcomes_[static_cast<std::size_t>(*number)] = {entry.failure == record::FailureKind::None, entry.seconds,
                                                    entry.spent_seconds};
  }
}

std::vector<Recording> read_recordings(std::span<const std::filesystem::path> files) {
  std::vector<Recording> recordings;
  std::vector<NamedDescription> descriptions;
  for (const std::filesystem::path& path : files) {
    JsonFile file = parse_json(read_unpacked(path), path.string());
    if (is_description(file.root)) {
      if (file.cut_off) {
        throw Error(ErrorCode::InvalidArgument, "the description is cut off", path.string(), "fetch the file again");
      }
      descriptions.push_back({read_description(file.root, path.string()), path.string()});
    } else if (is_recording(file.root)) {
      Recording recording = read_recording(file.root, name_of(path), path.string());
      if (file.cut_off) recording.notes.emplace_back("the file is cut off: what follows its last whole entry is lost");
      recordings.push_back(std::move(recording));
    } else {
      throw Error(ErrorCode::InvalidArgument, "this is neither a recording nor the description of a space",
                  path.string(),
                  "a recording has 'results' (T4) or 'cache' (Kernel Tuner), a description "
                  "'ConfigurationSpace' (T1)");
    }
  }
  if (recordings.empty()) {
    throw Error(ErrorCode::InvalidArgument, "there is no recording of measurements among the files",
                files.empty() ? "" : files.front().string(), "name a file of T4 results or a cache of Kernel Tuner");
  }
  for (const NamedDescription& one : descriptions) {
    const bool used = std::any_of(recordings.begin(), recordings.end(),
                                  [&](const Recording& recording) { return describes(one.description, recording); });
    if (used) continue;
    throw Error(ErrorCode::InvalidArgument, "the file describes none of the recordings: their parameters differ",
                one.file, "leave it out, or name the recording that belongs to it");
  }
  for (Recording& recording : recordings) {
    const NamedDescription* found = find_description(descriptions, recording);
    if (found == nullptr) continue;
    for (const std::string& note : found->description.notes) recording.notes.push_back(found->file + ": " + note);
    apply_description(recording, found->description);
  }
  return recordings;
}

}  // namespace temper::space::recorded
