#include "temper/tune/recorded_task.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "temper/compile/replay.h"
#include "temper/support/error.h"
#include "temper/tune/task_space.h"

namespace temper::tune {
namespace {

constexpr int kRecordsRead = 16;

std::optional<Task> task_of_spec(const record::TaskKey& key) {
  try {
    Task task = task_from_spec(key.text(), 1);
    if (task.key == key) return task;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidArgument && error.code() != ErrorCode::Unsupported) throw;
  }
  return std::nullopt;
}

/// A record's definition as it was written down.
std::optional<ir::Compute> read_definition(const record::Record& record) {
  if (!record.trace) return std::nullopt;
  try {
    return compile::parse_recorded(*record.trace).compute;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidArgument) throw;  // written by a version with another text form
  }
  return std::nullopt;
}

/// The task with this key and definition; nothing when the key is not one that `make_task` gives.
std::optional<Task> with_definition(const record::TaskKey& key, const ir::Compute& compute) {
  auto fields = key.fields;
  if (fields.empty() || fields.back().first != "threads") return std::nullopt;
  const std::string number = fields.back().second;
  int threads = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), threads);
  if (read.ec != std::errc{} || read.ptr != number.data() + number.size() || threads < 1) return std::nullopt;
  fields.pop_back();
  // The field of cold constants stands before the threads; `with_cold_constants` adds it again.
  const auto make = [&](bool cold) {
    auto own = fields;
    if (cold) own.pop_back();
    Task task = make_task(key.op, std::move(own), compute, threads);
    return cold ? with_cold_constants(std::move(task)) : task;
  };
  for (const bool cold : {!fields.empty(), false}) {
    Task task = make(cold);
    if (task.key == key) return task;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Task> task_of(const store::Store& store, const record::TaskKey& key, std::string_view target) {
  if (std::optional<Task> task = task_of_spec(key)) return task;
  std::vector<record::Record> records = store.defaults(key, target);
  std::ranges::move(store.best(key, target, kRecordsRead), std::back_inserter(records));
  std::ranges::stable_sort(records, std::greater(), &record::Record::created_unix_ms);
  std::optional<Task> task;
  for (const record::Record& record : records) {
    if (!algorithm_of(record.candidate.design).empty()) continue;
    const std::optional<ir::Compute> written = read_definition(record);
    if (!written || ir::structural_hash(*written) != record.definition_hash) continue;
    task = with_definition(key, *written);
    if (task) break;
  }
  if (!task) return std::nullopt;
  for (const record::Record& record : records) {
    const std::string algorithm(algorithm_of(record.candidate.design));
    if (algorithm.empty() || record.definition_hash != task->definition_hash) continue;
    if (std::ranges::find(task->alternatives, algorithm, &ops::Alternative::algorithm) != task->alternatives.end())
      continue;
    if (std::optional<ir::Compute> written = read_definition(record))
      task->alternatives.push_back({algorithm, std::move(*written)});
  }
  return task;
}

}  // namespace temper::tune
