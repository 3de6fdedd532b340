// Records that leave a database or enter it: JSON Lines, T4 results, other databases.
#include <fmt/format.h>

#include <filesystem>

#include "temper/app/db_command.h"
#include "temper/store/json_lines.h"
#include "temper/store/merge.h"
#include "temper/store/sqlite_store.h"
#include "temper/store/t4_export.h"
#include "temper/support/error.h"
#include "temper/target/cpu.h"

namespace temper::app {

nlohmann::json db_export(Session& s, const DbOptions& o) {
  const bool t4 = o.format == "t4";
  if (t4 && !o.op.empty()) {
    throw Error(ErrorCode::InvalidArgument, "--operator is for JSON Lines", "--operator",
                "a T4 file holds one task: name it with --op or --task");
  }
  if (!t4 && !(o.spec.empty() && o.key.empty())) {
    throw Error(ErrorCode::InvalidArgument, "--op and --task are for T4 files", "command line",
                "add --format t4, or choose with --operator and --target");
  }
  const auto store = store::open_sqlite(o.db, store::OpenMode::ReadOnly);
  std::int64_t count = 0;
  if (t4) {
    const std::string target = o.target.empty() ? target::fingerprint(target::detect()) : o.target;
    count = store::export_t4(*store, key_of(o), target, o.file);
  } else {
    count = store::export_json_lines(*store, o.file, {o.target, o.op});
  }
  s.print(fmt::format("{} written to {}\n", counted(count, "record"), o.file));
  return {{"records", count}, {"file", o.file}, {"format", o.format}};
}

nlohmann::json db_import(Session& s, const DbOptions& o) {
  store::check_json_lines(o.file);  // before a database is made
  const auto store = store::open_sqlite(o.db, store::OpenMode::Create);
  const store::Imported imported = store::import_json_lines(*store, o.file);
  nlohmann::json bad = nlohmann::json::array();
  constexpr std::size_t kShown = 5;
  for (const store::BadLine& line : imported.bad_lines) {
    if (bad.size() < kShown) s.progress(fmt::format("line {} skipped: {}", line.line, line.message));
    bad.push_back({{"line", line.line}, {"message", line.message}});
  }
  if (bad.size() > kShown) s.progress(fmt::format("... and {} more", bad.size() - kShown));
  s.print(fmt::format("{} records imported, {} were there already, {} lines skipped\n", imported.appended.inserted,
                      imported.appended.kept, imported.bad_lines.size()));
  if (!imported.bad_lines.empty()) s.exit_code = 1;
  return {{"inserted", imported.appended.inserted}, {"kept", imported.appended.kept}, {"bad_lines", bad}};
}

nlohmann::json db_merge(Session& s, const DbOptions& o) {
  const std::vector<std::filesystem::path> files(o.files.begin(), o.files.end());
  for (const std::filesystem::path& file : files)
    store::open_sqlite(file, store::OpenMode::ReadOnly);  // before a database is made
  const auto store = store::open_sqlite(o.db, store::OpenMode::Create);
  nlohmann::json merged = nlohmann::json::array();
  store::merge(*store, files, s.cancellation, [&](const store::MergedFile& file) {
    s.print(fmt::format("{}: {} added, {} replaced, {} kept\n", file.path.string(),
                        counted(file.appended.inserted, "record"), file.appended.replaced, file.appended.kept));
    merged.push_back({{"file", file.path.string()},
                      {"inserted", file.appended.inserted},
                      {"replaced", file.appended.replaced},
                      {"kept", file.appended.kept}});
  });
  return {{"files", merged}};
}

}  // namespace temper::app
