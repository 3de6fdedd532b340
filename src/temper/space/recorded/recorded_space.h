// A recording as a space that any strategy can search: what it asks for is answered with what was measured then.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "temper/search/enumeration.h"
#include "temper/search/replay.h"
#include "temper/space/recorded/recording.h"

namespace temper::space::recorded {

/// Has one design, named as the recording, with a knob for each parameter (see `to_knob`). Exactly the recorded
/// configurations are valid, those that failed too.
class RecordedSpace final : public search::Space {
 public:
  explicit RecordedSpace(Recording recording);
  RecordedSpace(const RecordedSpace&) = delete;
  RecordedSpace& operator=(const RecordedSpace&) = delete;

  const std::vector<search::Design>& designs() const override { return designs_; }
  const search::SpaceIndex& index() const { return index_; }
  const Recording& recording() const { return recording_; }
  /// What the search hears; pointers into this object.
  search::ReplayedSpace replayed() const { return {recording_.name, this, &index_, outcomes_}; }

 private:
  Recording recording_;
  std::vector<search::Design> designs_;
  search::SpaceIndex index_;
  std::vector<search::Outcome> outcomes_;  ///< by the candidate's number in `index_`
};

/// Reads recordings and the descriptions among the files, which may be in any order: a description goes to every
/// recording that it describes. Throws what reading throws, and Error{InvalidArgument} for a file that is neither, for
/// a description that describes none of the recordings, for two different descriptions of one recording, and when there
/// is no recording at all.
std::vector<Recording> read_recordings(std::span<const std::filesystem::path> files);

}  // namespace temper::space::recorded
