#include "temper/tune/lookup.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "temper/compile/compile.h"
#include "temper/compile/replay.h"
#include "temper/nest/build.h"
#include "temper/schedule/trace.h"
#include "temper/support/error.h"
#include "temper/tune/task_space.h"
#include "temper/tune/verdict.h"
#include "temper/tune/version.h"

namespace temper::tune {
namespace {

constexpr int kRecordsRead = 16;

std::string passed_over(const record::Record& record, const std::string& reason) {
  return "record " + std::to_string(record.id) + " is passed over: " + reason;
}

struct Usable {
  std::vector<record::Record> records;
  std::string note;  ///< which faster ones may not be used
};

/// What is said of a task whose only records are not of today.
std::string not_checked(const record::Record& record) {
  const std::string part = record.temper_version != version()       ? "Temper version"
                           : record.schema != record::kRecordSchema ? "record schema"
                                                                    : "definition";
  return passed_over(record, "it is of another " + part + "; `temper db revalidate` checks such records");
}

/// The fastest records of today's version and definition that are within `max_error`; reads on until there is one.
Usable fastest(const store::Store& store, const record::TaskKey& key, std::uint64_t definition_hash,
               const std::string& fingerprint, double max_error) {
  for (int count = kRecordsRead;; count *= 2) {
    Usable out;
    const record::Record* stale = nullptr;
    const std::vector<record::Record> read = store.best(key, fingerprint, count);
    for (const record::Record& record : read) {
      if (!is_current(record, definition_hash)) {
        if (stale == nullptr) stale = &record;
      } else if (within_max_error(record.candidate.design, record.measurement, max_error)) {
        out.records.push_back(record);
      } else if (out.note.empty() && out.records.empty()) {
        out.note = passed_over(record, beyond_max_error(record.measurement, max_error));
      }
    }
    if (out.records.empty() && out.note.empty() && stale != nullptr) out.note = not_checked(*stale);
    if (!out.records.empty() || read.size() < static_cast<std::size_t>(count)) return out;
  }
}

/// Records that may be used, in the order in which they should be: the preferred winner, the others fastest first, then
/// the default's if it is known.
Usable usable(const store::Store& store, const record::TaskKey& key, std::uint64_t definition_hash,
              const target::Target& target, double max_error) {
  const std::string fingerprint = target::fingerprint(target);
  auto [records, note] = fastest(store, key, definition_hash, fingerprint, max_error);
  if (records.empty()) return {{}, note};
  lead_with_preferred(records.begin(), records.end(),
                      [](const record::Record& record) -> const record::Measurement& { return record.measurement; });
  std::optional<record::Record> untuned;
  for (record::Record& record : store.defaults(key, fingerprint)) {
    if (record.measurement.ok() && is_current(record, definition_hash)) untuned = std::move(record);
  }
  if (!untuned) return {std::move(records), note};
  std::erase_if(records, [&](const record::Record& r) { return !beats(r.measurement, untuned->measurement); });
  records.push_back(std::move(*untuned));
  return {std::move(records), note};
}

const ir::Compute* definition_of(const Task& task, std::string_view algorithm) {
  if (algorithm.empty()) return &task.compute;
  for (const ops::Alternative& alternative : task.alternatives) {
    if (alternative.algorithm == algorithm) return &alternative.compute;
  }
  return nullptr;
}

void verify(const schedule::Schedule& schedule) { nest::verify(nest::build(schedule), schedule); }

}  // namespace

Mode mode_from_environment() {
  const char* text = std::getenv("TEMPER_TUNE");  // NOLINT(concurrency-mt-unsafe): nothing here changes it
  if (text == nullptr || *text == '\0') return Mode::Cached;
  constexpr std::pair<std::string_view, Mode> kModes[] = {
      {"off", Mode::Off}, {"cached", Mode::Cached}, {"on", Mode::On}};
  for (const auto& [name, mode] : kModes) {
    if (name == text) return mode;
  }
  throw Error(ErrorCode::InvalidArgument, "TEMPER_TUNE cannot be '" + std::string(text) + "'",
              "environment variable TEMPER_TUNE", "use off, cached or on");
}

std::optional<record::Record> best(const store::Store& store, const Task& task, const target::Target& target,
                                   double max_error) {
  return best(store, task.key, task.definition_hash, target, max_error);
}

std::optional<record::Record> best(const store::Store& store, const record::TaskKey& key, std::uint64_t definition_hash,
                                   const target::Target& target, double max_error) {
  std::vector<record::Record> records = usable(store, key, definition_hash, target, max_error).records;
  if (records.empty()) return std::nullopt;
  return std::move(records.front());
}

LookedUp schedule_of(const record::Record& record, const Task& task, const target::Target& target,
                     std::span<const space::Template> templates) {
  if (record.definition_hash != task.definition_hash) {
    throw Error(ErrorCode::NotFound, "the record is of another definition of " + task.key.text(),
                record.candidate.text());
  }
  const ir::Compute* compute = definition_of(task, algorithm_of(record.candidate.design));
  if (compute == nullptr) {
    throw Error(ErrorCode::NotFound, "the record's algorithm is not one of the task's", record.candidate.text());
  }
  if (record.trace) {
    schedule::Schedule schedule(*compute);
    schedule::replay(schedule, compile::parse_recorded(*record.trace).trace);
    verify(schedule);
    return {record, compute, std::move(schedule), {}};
  }
  const TaskSpace space(task, target, templates);
  schedule::Schedule schedule = space.materialise(search::from_record(space, record.candidate));
  verify(schedule);
  return {record, compute, std::move(schedule), {}};
}

LookedUp schedule_for(const store::Store* store, const Task& task, const target::Target& target,
                      std::span<const space::Template> templates, double max_error) {
  std::string note;
  if (store != nullptr) {
    const Usable found_records = usable(*store, task.key, task.definition_hash, target, max_error);
    note = found_records.note;
    for (const record::Record& record : found_records.records) {
      try {
        LookedUp found = schedule_of(record, task, target, templates);
        found.note = note;
        return found;
      } catch (const Error& error) {
        note += (note.empty() ? "" : "\n") + passed_over(record, error.message());
      }
    }
  }
  const space::ScheduleSpace space(task.compute, target, templates);
  schedule::Schedule schedule = space.materialise(space.default_candidate());
  verify(schedule);
  return {std::nullopt, &task.compute, std::move(schedule), std::move(note)};
}

Built artifact_for(const store::Store* store, const Task& task, const target::Target& target, Mode mode,
                   std::span<const space::Template> templates, double max_error) {
  compile::Compiler compiler(target);
  LookedUp found = schedule_for(mode == Mode::Off ? nullptr : store, task, target, templates, max_error);
  return {std::move(found.record), compiler.compile(found.schedule).artifact, std::move(found.note)};
}

}  // namespace temper::tune
