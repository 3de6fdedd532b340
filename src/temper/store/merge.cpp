#include "temper/store/merge.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"
#include "temper/support/output_file.h"

namespace temper::store {
namespace {

constexpr std::size_t kBatch = 1000;  ///< records a transaction

Appended add_all(Store& into, const Store& from, const CancellationToken& cancellation) {
  Appended result;
  std::vector<Record> batch;
  const auto flush = [&] {
    result += into.append(batch, OnConflict::KeepBetter);
    batch.clear();
  };
  from.for_each([&](const Record& r) {
    batch.push_back(r);
    if (batch.size() < kBatch) return;
    flush();
    cancellation.throw_if_requested();
  });
  flush();
  return result;
}

}  // namespace

std::vector<MergedFile> merge(Store& into, std::span<const std::filesystem::path> files,
                              const CancellationToken& cancellation,
                              const std::function<void(const MergedFile&)>& merged) {
  std::vector<std::unique_ptr<Store>> sources;
  for (const std::filesystem::path& path : files) {
    if (same_file(into.location(), path)) {
      throw Error(ErrorCode::InvalidArgument, "a database cannot be merged into itself", path.string(),
                  "name other files; --db is the one that grows");
    }
    sources.push_back(open_sqlite(path, OpenMode::ReadOnly));
  }
  std::vector<MergedFile> result;
  for (std::size_t i = 0; i < files.size(); ++i) {
    result.push_back({files[i], add_all(into, *sources[i], cancellation)});
    if (merged) merged(result.back());
  }
  return result;
}

}  // namespace temper::store
