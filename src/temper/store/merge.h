// Joining databases: what others have measured becomes part of one's own file.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "temper/store/store.h"
#include "temper/support/cancellation.h"

namespace temper::store {

struct MergedFile {
  std::filesystem::path path;
  Appended appended;
};

/// Adds the records of `files` to `into`, in batches of one transaction each. Of two records of one candidate
/// the one that says more stays (`outranks` in `store/conflict.h`), so that merging again changes nothing and the order
/// of the files does not matter. The files are read only; those of an older schema are read as they are. `merged` is
/// called after each file. Throws, before anything is written: what `open_sqlite` throws for a file, and
/// InvalidArgument for a file that is `into` itself. Throws Cancelled between two batches, and what `append` throws:
/// what was merged before stays.
std::vector<MergedFile> merge(Store& into, std::span<const std::filesystem::path> files,
                              const CancellationToken& cancellation,
                              const std::function<void(const MergedFile&)>& merged = {});

}  // namespace temper::store
