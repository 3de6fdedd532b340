#include "temper/store/json_lines.h"

#include <fstream>
#include <functional>
#include <system_error>
#include <utility>

#include "temper/record/json.h"
#include "temper/support/error.h"
#include "temper/support/output_file.h"

namespace temper::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBatch = 1000;     ///< records a transaction
constexpr std::size_t kBlock = 1 << 16;  ///< bytes a write

/// Calls `read(number, line)` for every line that is not empty.
void for_each_line(const fs::path& path, const std::function<void(std::int64_t, const std::string&)>& read) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw Error(ErrorCode::NotFound, "the file to import does not exist", path.string(), "check the path");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in || fs::is_directory(path, ignored)) {
    throw Error(ErrorCode::Io, "the file to import cannot be read", path.string(), "check that it is a readable file");
  }
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) read(number, line);
  }
  if (in.bad()) throw Error(ErrorCode::Io, "reading the file to import failed", path.string(), "check the disk");
}

}  // namespace

void check_json_lines(const fs::path& path) {
  std::int64_t good = 0, bad = 0;
  for_each_line(path, [&](std::int64_t number, const std::string& line) {
    try {
      record::from_json_line(line);
      ++good;
    } catch (const Error& error) {
      ++bad;
      if (error.code() != ErrorCode::Version) return;  // reported when the lines are imported
      throw Error(ErrorCode::Version, error.message() + "; nothing was imported",
                  path.string() + ", line " + std::to_string(number), error.hint());
    }
  });
  if (good == 0 && bad > 0) {
    throw Error(ErrorCode::InvalidArgument, "the file to import holds no record", path.string(),
                "give a file that `temper db export` wrote");
  }
}

std::int64_t export_json_lines(const Store& store, const fs::path& path, const ExportFilter& filter) {
  for (const char* companion : {"", "-wal", "-shm"}) refuse_overwriting(store.location() + companion, path);
  OutputFile file(path, "the export");
  std::string lines;
  std::int64_t count = 0;
  store.for_each([&](const Record& r) {
    if (!filter.target.empty() && r.target != filter.target) return;
    if (!filter.op.empty() && r.task.op != filter.op) return;
    lines += record::to_json_line(r) + '\n';
    ++count;
    if (lines.size() < kBlock) return;
    file.write(lines);
    lines.clear();
  });
  file.write(lines);
  file.keep();
  return count;
}

Imported import_json_lines(Store& store, const fs::path& path) {
  check_json_lines(path);
  Imported result;
  std::vector<Record> batch;
  const auto flush = [&] {
    result.appended += store.append(batch, OnConflict::Keep);
    batch.clear();
  };
  for_each_line(path, [&](std::int64_t number, const std::string& line) {
    try {
      Record r = record::from_json_line(line);
      check_storable(r);
      batch.push_back(std::move(r));
    } catch (const Error& error) {
      result.bad_lines.push_back({number, error.message() + (error.where().empty() ? "" : " (" + error.where() + ")")});
      return;
    }
    if (batch.size() >= kBatch) flush();
  });
  flush();
  return result;
}

}  // namespace temper::store
