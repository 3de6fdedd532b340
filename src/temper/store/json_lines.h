// Exchange of whole stores as JSON Lines, one record a line in the form of `record/json.h`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "temper/store/store.h"

namespace temper::store {

struct ExportFilter {
  std::string target;  ///< only this target; empty: all
  std::string op;      ///< only this operator; empty: all
};

/// Writes the records of `store`, oldest first, to `path` and returns how many. The file appears whole or not at all:
/// a file of that name is replaced. Throws InvalidArgument when `path` is the store's own file, and what `OutputFile`
/// throws.
std::int64_t export_json_lines(const Store& store, const std::filesystem::path& path, const ExportFilter& filter = {});

/// Reads `path` through. Throws NotFound or Io when it cannot be read, Version when any line has a newer schema,
/// InvalidArgument when it has lines but none of them is a record.
void check_json_lines(const std::filesystem::path& path);

struct BadLine {
  std::int64_t line = 0;  ///< from 1
  std::string message;
};

struct Imported {
  Appended appended;
  std::vector<BadLine> bad_lines;  ///< skipped
};

/// Adds the records of `path`; what is stored already stays. Empty lines are skipped; unreadable lines are reported and
/// skipped. Throws what `check_json_lines` throws, then nothing is imported, and what `Store::append` throws.
Imported import_json_lines(Store& store, const std::filesystem::path& path);

}  // namespace temper::store
